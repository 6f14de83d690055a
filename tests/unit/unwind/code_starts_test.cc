#include "daemon/unwind/code/code_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "daemon/elf/file/byte_source.h"
#include "tests/support/listed_symbols.h"

namespace profd::unwind {
namespace {

constexpr std::uint32_t kPackedRelative = 19;  // SHT_RELR

// code_starts_fixture.c, with its relative relocations as they are or packed.
class CodeStartsOfFixture : public ::testing::TestWithParam<const char*> {
 protected:
  CodeStartsOfFixture() {
    std::ifstream file(path_, std::ios::binary);
    elf_.assign(std::istreambuf_iterator<char>(file), {});
  }
  [[nodiscard]] std::uint64_t AddressOf(const std::string& name) const {
    const auto symbols = testing::ListSymbols(path_, false);
    const auto found = std::ranges::find(symbols, name, &testing::ListedSymbol::name);
    EXPECT_NE(found, symbols.end()) << name;
    return found == symbols.end() ? 0 : found->start;
  }

  const std::string path_ = std::string(PROFD_CODE_STARTS_FIXTURES) + GetParam() + ".so";
  std::string elf_;
};

TEST_P(CodeStartsOfFixture, AllRelocationsCount) {
  const elf::MemoryBytes bytes(std::as_bytes(std::span(elf_)));
  auto file = elf::ElfFile::Open(bytes);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->ReadSections());
  EXPECT_EQ(file->FindSection(kPackedRelative) != nullptr, GetParam() == std::string("packed"));
  const std::uint64_t exported = AddressOf("exported");
  const auto references = [&](const auto& is_covered) {
    const CodeStarts starts = CodeStarts::Read(*file, is_covered);
    const auto found = starts.Referenced(0, std::numeric_limits<std::uint64_t>::max());
    return std::vector<std::uint64_t>(found.begin(), found.end());
  };
  const auto all = references([](std::uint64_t) { return false; });
  EXPECT_THAT(all, ::testing::IsSupersetOf({AddressOf("first_hidden"), AddressOf("second_hidden"),
                                            AddressOf("lonely_hidden"), exported, exported + 2}));
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
  // Functions that have unwind information are left out.
  EXPECT_THAT(references([&](std::uint64_t address) { return address == exported; }),
              ::testing::AllOf(::testing::Not(::testing::Contains(exported)),
                               ::testing::Contains(exported + 2)));
}

INSTANTIATE_TEST_SUITE_P(All, CodeStartsOfFixture, ::testing::Values("plain", "packed"),
                         [](const auto& instance) { return std::string(instance.param); });

}  // namespace
}  // namespace profd::unwind
