#include "daemon/elf/symbols/virtual_functions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/elf/symbols/elf_reader.h"
#include "tests/support/listed_symbols.h"
#include "tests/support/subprocess.h"

namespace profd::elf {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Result<ObjectRef> Read(const std::string& elf, const ElfLimits& limits = {}) {
  return ReadElf(MemoryBytes(std::as_bytes(std::span(elf))), limits);
}

// Symbols of tests/unit/elf/virtual_fixture.cc, and what they are called without.
const std::map<std::string, std::string>& Expected() {
  static const std::map<std::string, std::string> expected{
      {"_ZNK7fixture6Circle4areaEi", "_ZTSN7fixture6CircleE::(virtual 2) of _ZTSN7fixture5ShapeE"},
      {"_ZNK7fixture6Square4areaEi", "_ZTSN7fixture6SquareE::(virtual 2) of _ZTSN7fixture5ShapeE"},
      {"_ZNK7fixture6Square5sidesEv", "_ZTSN7fixture6SquareE::(virtual 4) of _ZTSN7fixture5ShapeE"},
      // Inherited by all shapes, or by some.
      {"_ZNK7fixture5Shape4nameEv", "_ZTSN7fixture5ShapeE::(virtual 3)"},
      {"_ZNK7fixture5Shape5sidesEv", "_ZTSN7fixture5ShapeE::(virtual 4)"},
      // With two bases: in its own vtable, and behind the vtable of the second one.
      {"_ZN7fixture13HearingSquare4hearEi",
       "_ZTSN7fixture13HearingSquareE::(virtual 5) of _ZTSN7fixture5ShapeE of "
       "_ZTSN7fixture6SquareE"},
      {"_ZThn8_N7fixture13HearingSquare4hearEi",
       "_ZTSN7fixture13HearingSquareE::(virtual 2 at +8)"},
      {"_ZN7fixture8Listener4hearEi", "_ZTSN7fixture8ListenerE::(virtual 2)"},
      {"_ZN7fixture12_GLOBAL__N_16Hidden4hearEi",
       "_ZTSN7fixture12_GLOBAL__N_16HiddenE::(virtual 2) of _ZTSN7fixture8ListenerE"},
      {"_ZN7fixture4ConvIfE7computeEf", "_ZTSN7fixture4ConvIfEE::(virtual 2)"},
      {"_ZN7fixture4ConvIlE7computeEl", "_ZTSN7fixture4ConvIlEE::(virtual 2)"},
      // Overridden in both, and folded.
      {"_ZNK7fixture4Left5firstEv", "_ZTSN7fixture4LeftE::(virtual 0) of _ZTSN7fixture4PairE"},
      {"_ZNK7fixture5Right5firstEv", "_ZTSN7fixture5RightE::(virtual 0) of _ZTSN7fixture4PairE"},
      {"fixture_second", "_ZTSN7fixture4PairE::(virtual 1)"},
      {"_ZNK7fixture4Pair5thirdEv", "_ZTSN7fixture4PairE::(virtual 2)"},
      // Whose is it?
      {"fixture_only", ""},
      {"fixture_twice", ""},
      // A vtable, and a table of functions behind it.
      {"fixture_in_vtable", "_ZTSN7fixture8FollowedE::(virtual 0)"},
      {"fixture_in_table", ""},
      {"fixture_in_table_too", ""}};
  return expected;
}

class VirtualFunctions : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (profd::testing::Run({"readelf", "--version"}).exit_code != 0)
      GTEST_SKIP() << "needs readelf (binutils) for the addresses";
    const std::string path = std::string(PROFD_VIRTUAL_FIXTURES) + GetParam() + ".so";
    symbols_ = profd::testing::ListSymbols(path, false);
    stripped_ = Contents(path + ".stripped");
  }
  [[nodiscard]] std::uint64_t AddressOf(const std::string& name) const {
    const auto found = std::ranges::find(symbols_, name, &profd::testing::ListedSymbol::name);
    return found == symbols_.end() ? 0 : found->start;
  }

  std::vector<profd::testing::ListedSymbol> symbols_;
  std::string stripped_;
};

TEST_P(VirtualFunctions, AreCalledByTheirClasses) {
  const auto object = Read(stripped_);
  ASSERT_TRUE(object) << object.error().message;
  for (const auto& [symbol, name] : Expected()) {
    const std::uint64_t begin = AddressOf(symbol);
    ASSERT_NE(begin, 0u) << symbol;
    const auto found = (*object)->FindSymbol(begin + 1);
    ASSERT_TRUE(found) << symbol;
    EXPECT_EQ(found->begin, begin) << symbol;
    EXPECT_EQ(found->name, name) << symbol;
  }
}

TEST_P(VirtualFunctions, AreNotLookedForBeyondTheLimits) {
  for (ElfLimits limits : {ElfLimits{.symbols = 8}, ElfLimits{.indexed_symbols = 2}}) {
    limits.string_bytes = 64u << 10;
    const auto object = Read(stripped_, limits);
    ASSERT_TRUE(object) << object.error().message;
    const auto found = (*object)->FindSymbol(AddressOf("fixture_in_vtable"));
    EXPECT_EQ(found ? found->name : "", "");
  }
}

TEST_P(VirtualFunctions, AnyDamageLeavesOnlyNamesOut) {
  const MemoryBytes source(std::as_bytes(std::span(stripped_)));
  auto file = ElfFile::Open(source);
  ASSERT_TRUE(file && file->ReadSections());
  const std::vector<FunctionExtent> functions = ReadFunctionExtents(*file);
  for (const char* name : {".data.rel.ro", ".rela.dyn", ".relr.dyn", ".dynsym"}) {
    const ElfSection* section = file->FindSection(name);
    if (section == nullptr) continue;
    const std::uint64_t step = section->bytes / 1'000 + 1;
    for (std::uint64_t at = 0; at < section->bytes; at += step) {
      std::string elf = stripped_;
      elf[section->offset + at] = static_cast<char>(elf[section->offset + at] ^ 0x18);
      const MemoryBytes bytes(std::as_bytes(std::span(elf)));
      auto damaged = ElfFile::Open(bytes);
      ASSERT_TRUE(damaged && damaged->ReadSections());
      std::string names;
      std::uint64_t last = 0;
      for (const VirtualFunction& one : FindVirtualFunctions(*damaged, functions, names)) {
        ASSERT_LT(last, one.begin);
        ASSERT_LT(one.name, names.size());
        ASSERT_NE(FunctionAt(functions, one.begin), nullptr);
        last = one.begin;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, VirtualFunctions,
                         ::testing::Values("library", "packed", "program", "fixed", "static",
                                           "fixed_static"));

}  // namespace
}  // namespace profd::elf
