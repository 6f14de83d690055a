#include "daemon/elf/symbols/elf_reader.h"

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <span>
#include <string>

#include "daemon/base/unique_fd.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/elf/elf_builder.h"

namespace profd::elf {
namespace {

using testing::BuildElf;
using testing::ElfPlan;
using ::testing::HasSubstr;
using testing::Patch;
using testing::SectionHeaderAt;
using testing::SmallPlan;

Result<ObjectRef> Read(const std::string& elf, const ElfLimits& limits = {}) {
  return ReadElf(MemoryBytes(std::as_bytes(std::span(elf))), limits);
}

std::string NameAt(const Result<ObjectRef>& object, std::uint64_t vaddr) {
  if (!object) return object.error().message;
  const auto symbol = (*object)->FindSymbol(vaddr);
  return symbol ? std::string(symbol->name) : "-";
}

TEST(ElfReader, ReadsWhatTheFileSays) {
  const auto object = Read(BuildElf(SmallPlan()));
  ASSERT_TRUE(object) << object.error().message;
  const ObjectInfo& info = (*object)->info();
  EXPECT_EQ(info.build_id, "0123456789abcdef");
  EXPECT_EQ(info.segments, (std::vector<LoadSegment>{{0x1000, 0x2000, 0x800, true},
                                                     {0x1800, 0x4800, 0x100, false}}));
  EXPECT_EQ(info.symbols_from, SymbolOrigin::kSymtab);
  EXPECT_EQ(info.symbols_missing, "");
  EXPECT_EQ(NameAt(object, 0x2000), "alpha");
  EXPECT_EQ(NameAt(object, 0x2010), "-");
  EXPECT_EQ(NameAt(object, 0x203f), "beta");
  EXPECT_EQ(NameAt(object, 0x2040), "gamma");
}

TEST(ElfReader, AnyClassAndByteOrder) {
  for (const bool is_64 : {true, false}) {
    for (const bool big_endian : {true, false}) {
      ElfPlan plan = SmallPlan();
      plan.is_64 = is_64;
      plan.big_endian = big_endian;
      const auto object = Read(BuildElf(plan));
      ASSERT_TRUE(object) << object.error().message;
      EXPECT_EQ((*object)->info().build_id, "0123456789abcdef");
      EXPECT_EQ((*object)->info().segments.at(0), (LoadSegment{0x1000, 0x2000, 0x800, true}));
      EXPECT_EQ(NameAt(object, 0x2025), "beta");
    }
  }
}

TEST(ElfReader, BuildIdFromASectionOrNotAtAll) {
  ElfPlan plan = SmallPlan();
  plan.note_segment = false;
  EXPECT_EQ((*Read(BuildElf(plan)))->info().build_id, "");
  plan.note_section = true;
  EXPECT_EQ((*Read(BuildElf(plan)))->info().build_id, "0123456789abcdef");
}

TEST(ElfReader, DynsymStandsInAndSaysSo) {
  ElfPlan plan;
  plan.dynsym = {{"exported", 0x2000, 0x10}};
  const auto stripped = Read(BuildElf(plan));
  EXPECT_EQ((*stripped)->info().symbols_from, SymbolOrigin::kDynsym);
  EXPECT_EQ((*stripped)->info().symbols_missing, "stripped: install its debug package");
  EXPECT_EQ(NameAt(stripped, 0x2000), "exported");

  plan.symtab = {{"all", 0x2000, 0x10}};
  EXPECT_EQ(NameAt(Read(BuildElf(plan)), 0x2000), "all");
  // A symbol table without functions is no better than none.
  plan.symtab = {{"variable", 0x4000, 8, STB_GLOBAL, STT_OBJECT, 2}};
  EXPECT_EQ(NameAt(Read(BuildElf(plan)), 0x2000), "exported");
}

TEST(ElfReader, NoSymbolsIsAReason) {
  ElfPlan plan;
  const auto none = Read(BuildElf(plan));
  EXPECT_EQ((*none)->info().symbols_from, SymbolOrigin::kNone);
  EXPECT_EQ((*none)->info().symbols_missing, "no symbols: install its debug package");
  plan = SmallPlan();
  plan.section_headers = false;
  const auto headless = Read(BuildElf(plan));
  EXPECT_EQ((*headless)->info().symbols_missing, "no symbols: no section headers");
  EXPECT_EQ((*headless)->info().build_id, "0123456789abcdef");
  EXPECT_EQ((*headless)->info().segments.size(), 2u);
}

TEST(ElfReader, TakesFunctionsAndGlobalLabelsInCode) {
  ElfPlan plan;
  plan.symtab = {{"ifunc", 0x2000, 0x10, STB_GLOBAL, STT_GNU_IFUNC},
                 {"_start", 0x2100, 0, STB_GLOBAL, STT_NOTYPE},
                 {"local_label", 0x2104, 0, STB_LOCAL, STT_NOTYPE},
                 {"zero_size", 0x2200, 0, STB_LOCAL, STT_FUNC},
                 {"data_label", 0x4000, 0, STB_GLOBAL, STT_NOTYPE, 2},
                 {"variable", 0x4010, 8, STB_GLOBAL, STT_OBJECT, 2},
                 {"absolute", 0x5000, 0, STB_GLOBAL, STT_NOTYPE, SHN_ABS},
                 {"imported", 0x6000, 16, STB_GLOBAL, STT_FUNC, SHN_UNDEF}};
  const auto object = Read(BuildElf(plan));
  EXPECT_EQ(NameAt(object, 0x2008), "ifunc");
  EXPECT_EQ(NameAt(object, 0x2108), "_start");
  EXPECT_EQ(NameAt(object, 0x27ff), "zero_size") << "to the end of .text";
  EXPECT_EQ(NameAt(object, 0x2800), "-");
  for (const std::uint64_t vaddr : {0x4000, 0x4010, 0x5000, 0x6000})
    EXPECT_EQ(NameAt(object, vaddr), "-") << std::hex << vaddr;
}

TEST(ElfReader, NothingReachesOverWhatWasStripped) {
  ElfPlan plan;
  plan.dynsym = {{"no_size", 0x2000, 0},
                 {"no_type", 0x2100, 0, STB_GLOBAL, STT_NOTYPE},
                 {"sized", 0x2200, 0x10}};
  const auto object = Read(BuildElf(plan));
  EXPECT_EQ(NameAt(object, 0x2000), "-");
  EXPECT_EQ(NameAt(object, 0x2100), "-");
  EXPECT_EQ(NameAt(object, 0x2200), "sized");
}

TEST(ElfReader, MoreThan65535Sections) {
  ElfPlan plan;
  plan.extra_code_sections = 70'000;
  // The section of the symbol is known from SHT_SYMTAB_SHNDX alone; its end ends the symbol.
  plan.symtab = {{"far", 0x100000 + 16 * 66'000, 0, STB_GLOBAL, STT_NOTYPE, 9 + 66'000}};
  const auto object = Read(BuildElf(plan));
  EXPECT_EQ(NameAt(object, 0x100000 + 16 * 66'000 + 15), "far");
  EXPECT_EQ(NameAt(object, 0x100000 + 16 * 66'001), "-");
}

TEST(ElfReader, RefusesWhatIsNoProgram) {
  const auto refusal = [](const std::string& bytes) {
    const auto object = Read(bytes);
    return object ? "accepted" : object.error().message;
  };
  EXPECT_EQ(refusal(""), "empty file");
  EXPECT_EQ(refusal("#!/bin/sh\n"), "not an ELF file");
  EXPECT_EQ(refusal("\x7f"
                    "ELF"),
            "not an ELF file");
  EXPECT_THAT(refusal(BuildElf(SmallPlan()).substr(0, 40)), HasSubstr("outside the file"));
  ElfPlan object_file = SmallPlan();
  object_file.type = ET_REL;
  EXPECT_EQ(refusal(BuildElf(object_file)), "neither a program nor a shared library");
}

struct Damage {
  const char* what;
  void (*apply)(std::string& elf);
  const char* reason;
};

// Damage to headers: no object, and why.
TEST(ElfReader, DamagedHeadersAreRefused) {
  const Damage damages[] = {
      {"sections beyond the file",
       [](std::string& elf) { Patch(elf, testing::kShoffAt, 1u << 30, 8); },
       "section headers: a part that should be there lies outside the file"},
      {"offset that overflows",
       [](std::string& elf) { Patch(elf, testing::kShoffAt, ~0ull - 8, 8); },
       "section headers: a part that should be there lies outside the file"},
      {"more sections than fit", [](std::string& elf) { Patch(elf, testing::kShnumAt, 60'000, 2); },
       "section headers: a part that should be there lies outside the file"},
      {"size of section headers",
       [](std::string& elf) { Patch(elf, testing::kShentsizeAt, 63, 2); },
       "section headers of an unknown size"},
      {"no sections where some are counted",
       [](std::string& elf) { Patch(elf, testing::kShoffAt, 0, 8); },
       "section headers are counted but not there"},
      {"a billion sections",
       [](std::string& elf) {
         Patch(elf, testing::kShnumAt, 0, 2);
         Patch(elf, SectionHeaderAt(elf, 0) + 32, 1u << 30, 8);
       },
       "sections: 1073741824, more than the bound of 131072"},
      {"a billion segments",
       [](std::string& elf) {
         Patch(elf, testing::kPhnumAt, PN_XNUM, 2);
         Patch(elf, SectionHeaderAt(elf, 0) + 44, 1u << 30, 4);
       },
       "segments: 1073741824, more than the bound of 4096"},
      {"size of program headers", [](std::string& elf) { Patch(elf, testing::kPhentsizeAt, 8, 2); },
       "program headers of an unknown size"},
      {"program headers beyond the file", [](std::string& elf) { Patch(elf, 0x20, 1u << 30, 8); },
       "program headers: a part that should be there lies outside the file"},
      {"class", [](std::string& elf) { elf[EI_CLASS] = 7; }, "unknown ELF class"},
      {"byte order", [](std::string& elf) { elf[EI_DATA] = 0; }, "unknown byte order"},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    std::string elf = BuildElf(SmallPlan());
    damage.apply(elf);
    const auto object = Read(elf);
    ASSERT_FALSE(object);
    EXPECT_EQ(object.error().message, damage.reason);
  }
}

// Damage to the symbol table: what else the file says still counts.
TEST(ElfReader, DamagedSymbolTablesAreAReason) {
  constexpr std::size_t kOffset = 24;
  constexpr std::size_t kSize = 32;
  constexpr std::size_t kLink = 40;
  constexpr std::size_t kEntsize = 56;
  static const auto patch = [](std::string& elf, std::size_t section, std::size_t field,
                               std::uint64_t value, std::size_t bytes) {
    Patch(elf, SectionHeaderAt(elf, section) + field, value, bytes);
  };
  const Damage damages[] = {
      {"offset", [](std::string& elf) { patch(elf, 3, kOffset, 1u << 30, 8); },
       "symbol table: outside the file"},
      {"size", [](std::string& elf) { patch(elf, 3, kSize, 24 * 100'000, 8); },
       "symbol table: outside the file"},
      {"huge size", [](std::string& elf) { patch(elf, 3, kSize, ~0ull, 8); },
       "symbols: 768614336404564650, more than the bound of 2097152"},
      {"entry size 0", [](std::string& elf) { patch(elf, 3, kEntsize, 0, 8); },
       "symbol table: entries of unknown size"},
      {"entry size 23", [](std::string& elf) { patch(elf, 3, kEntsize, 23, 8); },
       "symbol table: entries of unknown size"},
      {"link to nothing", [](std::string& elf) { patch(elf, 3, kLink, 77, 4); },
       "symbol table: no table of names"},
      {"link to itself", [](std::string& elf) { patch(elf, 3, kLink, 3, 4); },
       "symbol table: no table of names"},
      {"names outside", [](std::string& elf) { patch(elf, 4, kOffset, 1u << 30, 8); },
       "symbol names: a part that should be there lies outside the file"},
      {"too many names", [](std::string& elf) { patch(elf, 4, kSize, 1ull << 40, 8); },
       "bytes of symbol names: 1099511627776, more than the bound of 134217728"},
      {"compressed", [](std::string& elf) { patch(elf, 3, 8, SHF_COMPRESSED, 8); },
       "symbol table: compressed"},
  };
  for (const Damage& damage : damages) {
    SCOPED_TRACE(damage.what);
    std::string elf = BuildElf(SmallPlan());
    damage.apply(elf);
    const auto object = Read(elf);
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ((*object)->info().symbols_missing, damage.reason);
    EXPECT_EQ((*object)->info().build_id, "0123456789abcdef");
    EXPECT_EQ((*object)->info().segments.size(), 2u);

    // With .dynsym beside it, that is used, and the reason stays.
    ElfPlan plan = SmallPlan();
    plan.dynsym = {{"exported", 0x2000, 0x10}};
    elf = BuildElf(plan);
    damage.apply(elf);
    const auto rescued = Read(elf);
    EXPECT_EQ(NameAt(rescued, 0x2000), "exported");
    EXPECT_EQ((*rescued)->info().symbols_missing, damage.reason);
  }
}

TEST(ElfReader, NamesThatAreNotTerminatedEndWithTheTable) {
  std::string elf = BuildElf(SmallPlan());
  // One byte less: "gamma" has lost its terminating zero.
  const std::size_t size_at = SectionHeaderAt(elf, 4) + 32;
  Patch(elf, size_at, static_cast<unsigned char>(elf[size_at]) - 1u, 1);
  EXPECT_EQ(NameAt(Read(elf), 0x2040), "gamma");
}

TEST(ElfReader, KeepsToItsLimits) {
  const std::string elf = BuildElf(SmallPlan());
  ElfLimits limits;
  limits.symbols = 3;
  EXPECT_EQ((*Read(elf, limits))->info().symbols_missing, "symbols: 4, more than the bound of 3");
  limits.symbols = 4;
  EXPECT_EQ(NameAt(Read(elf, limits), 0x2000), "alpha");
  limits.note_bytes = 23;
  EXPECT_EQ((*Read(elf, limits))->info().build_id, "") << "the note has 24 bytes";
  limits.sections = 8;
  EXPECT_EQ(Read(elf, limits).error().message, "sections: 9, more than the bound of 8");
}

// Whatever one byte says, the reader answers or refuses with a reason. (ASan and UBSan watch.)
TEST(ElfReader, AnyByteMayBeWrong) {
  ElfPlan plan = SmallPlan();
  plan.dynsym = {{"exported", 0x2000, 0x10}};
  plan.note_section = true;
  const std::string whole = BuildElf(plan);
  const auto in_text = [](std::size_t at) {  // nothing but zeros there
    return at >= 0x120 && at < testing::kTextOffset;
  };
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (in_text(at)) continue;
    for (const int change : {0x01, 0x80, 0xff, 0x7f}) {
      std::string elf = whole;
      elf[at] = static_cast<char>(elf[at] ^ change);
      const auto object = Read(elf);
      if (!object) {
        ++refused;
        ASSERT_NE(object.error().message, "") << "byte " << at << " ^ " << change;
        continue;
      }
      for (const std::uint64_t vaddr : {0x0ull, 0x2000ull, 0x2048ull, ~0ull})
        (void)(*object)->FindSymbol(vaddr);
      (void)VaddrOf((*object)->info().segments, testing::kTextOffset);
    }
  }
  EXPECT_GT(refused, 100u) << "else this test changes nothing that matters";
}

TEST(ElfReader, AnyLengthMayBeMissing) {
  const std::string whole = BuildElf(SmallPlan());
  for (std::size_t length = 0; length < whole.size(); ++length)
    ASSERT_FALSE(Read(whole.substr(0, length))) << "the section headers stand last, so " << length;
}

TEST(ElfReader, AFileThatShrinksIsNoFault) {
  const test::TempFolder tree;
  const std::string elf = BuildElf(SmallPlan());
  const std::string path = tree.Write("object", elf);
  for (std::size_t length = 0; length < elf.size(); length += 64) {
    tree.Write("object", elf);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(NameAt(ReadElf(FileBytes(fd.get(), elf.size())), 0x2000), "alpha");
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(length)), 0);
    const auto object = ReadElf(FileBytes(fd.get(), elf.size()));
    ASSERT_FALSE(object);
    EXPECT_THAT(object.error().message, HasSubstr("the file shrank while it was read"));
  }
}

}  // namespace
}  // namespace profd::elf
