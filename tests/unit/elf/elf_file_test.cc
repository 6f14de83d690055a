#include "daemon/elf/file/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "daemon/elf/file/symbol_search.h"
#include "tests/unit/elf/elf_builder.h"

namespace profd::elf {
namespace {

using testing::BuildElf;
using ::testing::ElementsAre;
using testing::ElfPlan;
using testing::Patch;
using testing::SectionHeaderAt;
using testing::SmallPlan;

// Bytes and their reader.
struct Opened {
  explicit Opened(std::string elf, const ElfLimits& limits = {})
      : bytes(std::move(elf)),
        source(std::as_bytes(std::span(bytes))),
        file(ElfFile::Open(source, limits)) {}
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::string bytes;
  MemoryBytes source;
  Result<ElfFile> file;
};

std::vector<std::string> NamesIn(const ElfFile& file, const ElfSection& table) {
  const auto pool = file.ReadNames(table, "symbol names");
  std::vector<std::string> names;
  EXPECT_TRUE(file.VisitSymbols(table, [&](const ElfSymbol& symbol) {
    EXPECT_EQ(symbol.index, names.size() + 1);
    names.emplace_back(pool->c_str() + symbol.name);
  }));
  return names;
}

TEST(ElfFileTest, HeadersOfAnyClassAndByteOrder) {
  for (const bool is_64 : {true, false}) {
    for (const bool big_endian : {true, false}) {
      ElfPlan plan = SmallPlan();
      plan.is_64 = is_64;
      plan.big_endian = big_endian;
      Opened opened(BuildElf(plan));
      ASSERT_TRUE(opened.file) << opened.file.error().message;
      ElfFile& file = *opened.file;
      EXPECT_EQ(file.header().is_64, is_64);
      EXPECT_EQ(file.header().big_endian, big_endian);
      EXPECT_EQ(file.header().type, ET_DYN);
      const ElfSegment& load = file.segments().at(0);
      EXPECT_EQ(load.type, PT_LOAD);
      EXPECT_EQ(load.vaddr, testing::kTextVaddr);
      EXPECT_EQ(load.file_offset, testing::kTextOffset);
      EXPECT_EQ(load.file_bytes, testing::kTextBytes);
      EXPECT_TRUE(load.executable);
      EXPECT_TRUE(file.sections().empty()) << "not read yet";
      ASSERT_TRUE(file.ReadSections());
      const ElfSection& text = file.sections().at(1);
      EXPECT_EQ(text.vaddr, testing::kTextVaddr);
      EXPECT_EQ(text.vaddr_end(), testing::kTextVaddr + testing::kTextBytes);
      const ElfSection* symtab = file.FindSection(SHT_SYMTAB);
      ASSERT_NE(symtab, nullptr);
      EXPECT_THAT(NamesIn(file, *symtab), ElementsAre("alpha", "beta", "gamma"));
      EXPECT_EQ(file.BuildId(), "0123456789abcdef");
    }
  }
}

// The file that BuildElf makes ends before its segments do.
std::string WholeElf() {
  std::string elf = BuildElf(SmallPlan());
  elf.resize(elf.size() + testing::kTextOffset + testing::kTextBytes, '\0');
  return elf;
}

TEST(ElfFileTest, PartAtIsWhereAnAddressLiesInTheFile) {
  Opened opened(WholeElf());
  const auto part = opened.file->PartAt(testing::kTextVaddr + 16);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->offset, testing::kTextOffset + 16);
  EXPECT_EQ(part->bytes, testing::kTextBytes - 16);
  EXPECT_FALSE(opened.file->PartAt(testing::kTextVaddr - 1));
  EXPECT_FALSE(opened.file->PartAt(testing::kTextVaddr + testing::kTextBytes));
}

TEST(ElfFileTest, ASegmentOutsideOfTheFileIsNotInIt) {
  std::string elf = WholeElf();
  const Opened whole(elf);
  const auto& segments = whole.file->segments();
  ASSERT_GT(segments.size(), 1u);
  EXPECT_EQ(whole.file->FindSegment(PT_LOAD), &segments.front());
  constexpr std::size_t kOffsetInHeader = 8;
  Patch(elf, whole.file->header().segments_at + kOffsetInHeader, elf.size(), 8);
  const Opened changed(elf);
  ASSERT_TRUE(changed.file);
  ASSERT_EQ(changed.file->segments().size(), segments.size());
  EXPECT_FALSE(changed.file->segments().front().in_file);
  EXPECT_EQ(changed.file->FindSegment(PT_LOAD), &changed.file->segments()[1]);
  EXPECT_FALSE(changed.file->PartAt(testing::kTextVaddr));
}

TEST(ElfFileTest, DamagedSectionsDoNotHideTheSegments) {
  std::string elf = WholeElf();
  Patch(elf, testing::kShoffAt, 1u << 30, 8);
  Opened opened(elf);
  ASSERT_TRUE(opened.file);
  EXPECT_NE(opened.file->FindSegment(PT_LOAD), nullptr);
  EXPECT_FALSE(opened.file->ReadSections());
  EXPECT_TRUE(opened.file->sections().empty());
}

// This program itself.
class OwnFileTest : public ::testing::Test {
 protected:
  const UniqueFd fd_{::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
  const FileBytes source_ = *FileBytes::Of(fd_.get());
};

TEST_F(OwnFileTest, SectionsHaveNames) {
  auto file = ElfFile::Open(source_);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->ReadSections());
  const ElfSection* text = file->FindSection(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(file->NameOf(*text), ".text");
  const auto found = FindLoadedSection(*file, ".text");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->vaddr, text->vaddr);
  EXPECT_EQ(found->bytes, text->bytes);
  EXPECT_FALSE(FindLoadedSection(*file, ".symtab")) << "not in memory";
  EXPECT_EQ(file->FindSection("none"), nullptr);
  EXPECT_EQ(file->FindSection(".bss"), nullptr) << "has no bytes in the file";
}

TEST_F(OwnFileTest, NamesThatCannotBeReadAreEmpty) {
  auto bytes = source_.Copy(0, source_.size());
  ASSERT_TRUE(bytes);
  constexpr std::size_t kShstrndxAt = 0x3e;
  Patch(*bytes, kShstrndxAt, 60'000, 2);
  Opened opened(*bytes);
  ASSERT_TRUE(opened.file->ReadSections());
  EXPECT_EQ(opened.file->section_names(), nullptr);
  EXPECT_EQ(opened.file->FindSection(".text"), nullptr);
  EXPECT_NE(opened.file->FindSection(SHT_STRTAB), nullptr);
}

TEST(SymbolSearchTest, FindsADynamicSymbolByItsHash) {
  const UniqueFd fd(::open("/usr/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) GTEST_SKIP() << "no libz here";
  const FileBytes source = *FileBytes::Of(fd.get());
  auto file = ElfFile::Open(source);
  ASSERT_TRUE(file);
  EXPECT_TRUE(NeedsLibraries(*file));
  EXPECT_FALSE(FindDynamicSymbol(*file, "no_such_function"));
  EXPECT_FALSE(FindDynamicSymbol(*file, "malloc")) << "imported";
  const auto inflate = FindDynamicSymbol(*file, "inflate");
  ASSERT_TRUE(inflate);
  // As a search of the whole table finds it.
  ASSERT_TRUE(file->ReadSections());
  const ElfSection* table = file->FindSection(SHT_DYNSYM);
  ASSERT_NE(table, nullptr);
  const auto names = file->ReadNames(*table, "symbol names");
  ASSERT_TRUE(names);
  std::size_t seen = 0;
  ASSERT_TRUE(file->VisitSymbols(*table, [&](const ElfSymbol& symbol) {
    if (names->c_str() + symbol.name != std::string_view("inflate")) return;
    ++seen;
    EXPECT_EQ(symbol.value, inflate->vaddr);
    EXPECT_EQ(symbol.size, inflate->bytes);
  }));
  EXPECT_EQ(seen, 1u);
}

TEST(ElfFileTest, MoreSymbolsThanAreReadAtOnceComeInOrder) {
  ElfPlan plan;
  for (std::uint32_t i = 0; i < 70'000; ++i)
    plan.symtab.push_back({"f" + std::to_string(i), 0x2000, 1});
  Opened opened(BuildElf(plan));
  ASSERT_TRUE(opened.file->ReadSections());
  const auto names = NamesIn(*opened.file, *opened.file->FindSection(SHT_SYMTAB));
  ASSERT_EQ(names.size(), 70'000u);
  EXPECT_EQ(names[40'000], "f40000");
}

TEST(SymbolSearchTest, FindsNamesInTheSymbolTable) {
  ElfPlan plan = SmallPlan();
  plan.symtab.push_back({"imported", 0, 8, STB_GLOBAL, STT_FUNC, SHN_UNDEF});
  plan.symtab.push_back({"empty", 0x2100, 0});
  Opened opened(BuildElf(plan));
  ASSERT_TRUE(opened.file->ReadSections());
  const std::vector<std::string_view> names{"beta", "bet", "imported", "empty"};
  std::vector<std::optional<FoundSymbol>> found(names.size());
  FindInSymbolTable(*opened.file, names, found);
  ASSERT_TRUE(found[0]);
  EXPECT_EQ(found[0]->vaddr, 0x2020u);
  EXPECT_EQ(found[0]->bytes, 0x20u);
  EXPECT_FALSE(found[1]);
  EXPECT_FALSE(found[2]);
  EXPECT_FALSE(found[3]);
}

}  // namespace
}  // namespace profd::elf
