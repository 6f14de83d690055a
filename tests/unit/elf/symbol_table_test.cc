#include "daemon/elf/symbols/symbol_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace profd::elf {
namespace {

// Lists symbols by name, as a test reads them.
class Symbols {
 public:
  RawSymbol& Add(const std::string& name, std::uint64_t start, std::uint64_t size,
                 SymbolBind bind = SymbolBind::kGlobal) {
    RawSymbol symbol;
    symbol.start = start;
    symbol.size = size;
    symbol.section_end = 0x10000;
    symbol.name = static_cast<std::uint32_t>(pool_.size());
    symbol.bind = bind;
    pool_ += name + '\0';
    return symbols_.emplace_back(symbol);
  }
  [[nodiscard]] SymbolTable Build() const { return SymbolTable(symbols_, pool_); }

 private:
  std::string pool_ = std::string(1, '\0');
  std::vector<RawSymbol> symbols_;
};

std::string NameAt(const SymbolTable& table, std::uint64_t vaddr) {
  const auto symbol = table.Find(vaddr);
  return symbol ? std::string(symbol->name) : "-";
}

TEST(SymbolTable, HoldsExactlyTheExtentOfAFunction) {
  Symbols symbols;
  symbols.Add("f", 0x100, 0x10);
  symbols.Add("g", 0x120, 0x10);
  const SymbolTable table = symbols.Build();
  EXPECT_EQ(NameAt(table, 0xff), "-");
  EXPECT_EQ(NameAt(table, 0x100), "f");
  EXPECT_EQ(NameAt(table, 0x10f), "f");
  EXPECT_EQ(NameAt(table, 0x110), "-") << "padding is not attributed to the symbol before it";
  EXPECT_EQ(NameAt(table, 0x120), "g");
  EXPECT_EQ(NameAt(table, 0x130), "-");
  EXPECT_EQ(table.Find(0x105), (SymbolRange{0x100, 0x110, "f"}));
}

TEST(SymbolTable, FunctionsWithoutASymbolFillWhatIsFree) {
  Symbols symbols;
  symbols.Add("named", 0x100, 0x10);
  symbols.Add("inside", 0x148, 0x8);
  SymbolTable table = symbols.Build();
  const std::array<FunctionExtent, 4> functions{
      {{0x80, 0xf0}, {0x100, 0x120}, {0x140, 0x160}, {0x200, 0x210}}};
  table.AddFunctions(functions);
  EXPECT_EQ(table.Find(0x80), (SymbolRange{0x80, 0xf0, ""}));
  EXPECT_EQ(table.Find(0xef), (SymbolRange{0x80, 0xf0, ""}));
  EXPECT_EQ(NameAt(table, 0xf0), "-");
  EXPECT_EQ(NameAt(table, 0x108), "named");
  EXPECT_EQ(NameAt(table, 0x118), "-") << "its begin has a name, and the symbol ends before";
  EXPECT_EQ(table.Find(0x140), (SymbolRange{0x140, 0x148, ""}));
  EXPECT_EQ(NameAt(table, 0x148), "inside");
  EXPECT_EQ(NameAt(table, 0x150), "-");
  EXPECT_EQ(table.Find(0x20f), (SymbolRange{0x200, 0x210, ""}));
  const std::vector<SymbolTable::Entry> entries(table.entries().begin(), table.entries().end());
  const auto again = SymbolTable::FromParts(entries, std::string(table.names()));
  ASSERT_TRUE(again) << "as it comes from a reader";
  EXPECT_EQ(again->Find(0x205), (SymbolRange{0x200, 0x210, ""}));
}

TEST(SymbolTable, EmptyHasNoNames) { EXPECT_EQ(NameAt(SymbolTable(), 0), "-"); }

TEST(SymbolTable, TheInnermostOfNestedFunctionsHasTheAddress) {
  Symbols symbols;
  symbols.Add("outer", 0x100, 0x100);
  symbols.Add("middle", 0x120, 0x80);
  symbols.Add("inner", 0x130, 0x10);
  symbols.Add("overhang", 0x1f0, 0x40);
  const SymbolTable table = symbols.Build();
  EXPECT_EQ(NameAt(table, 0x11f), "outer");
  EXPECT_EQ(NameAt(table, 0x120), "middle");
  EXPECT_EQ(NameAt(table, 0x13f), "inner");
  EXPECT_EQ(NameAt(table, 0x140), "middle");
  EXPECT_EQ(NameAt(table, 0x1a0), "outer");
  EXPECT_EQ(NameAt(table, 0x1ff), "overhang");
  EXPECT_EQ(NameAt(table, 0x22f), "overhang");
  EXPECT_EQ(NameAt(table, 0x230), "-");
}

TEST(SymbolTable, WithoutASizeReachesToTheNextSymbolOrTheEndOfItsSection) {
  Symbols symbols;
  symbols.Add("a", 0x100, 0);
  symbols.Add("b", 0x140, 0);
  symbols.Add("sized", 0x180, 0x10);
  symbols.Add("last", 0x200, 0).section_end = 0x210;
  const SymbolTable table = symbols.Build();
  EXPECT_EQ(NameAt(table, 0x13f), "a");
  EXPECT_EQ(NameAt(table, 0x140), "b");
  EXPECT_EQ(NameAt(table, 0x17f), "b");
  EXPECT_EQ(NameAt(table, 0x180), "sized");
  EXPECT_EQ(NameAt(table, 0x190), "-");
  EXPECT_EQ(NameAt(table, 0x20f), "last");
  EXPECT_EQ(NameAt(table, 0x210), "-");
}

TEST(SymbolTable, LabelsOnlyFillWhatFunctionsLeaveFree) {
  Symbols symbols;
  symbols.Add("function", 0x100, 0x40);
  symbols.Add("label_inside", 0x110, 0).function = false;
  symbols.Add("_start", 0x140, 0).function = false;
  symbols.Add("sized_label", 0x160, 0x8).function = false;
  const SymbolTable table = symbols.Build();
  EXPECT_EQ(NameAt(table, 0x118), "function");
  EXPECT_EQ(NameAt(table, 0x150), "_start");
  EXPECT_EQ(NameAt(table, 0x167), "sized_label");
  EXPECT_EQ(NameAt(table, 0x168), "-");
}

TEST(SymbolTable, OneNameOfSeveral) {
  const auto best = [](std::vector<std::pair<std::string, SymbolBind>> aliases) {
    std::string first;
    // Whatever the order in the file.
    std::ranges::sort(aliases);
    do {
      Symbols symbols;
      for (const auto& [name, bind] : aliases) symbols.Add(name, 0x100, 0x10, bind);
      const std::string name = NameAt(symbols.Build(), 0x104);
      EXPECT_TRUE(first.empty() || first == name) << first << " or " << name;
      first = name;
    } while (std::ranges::next_permutation(aliases).found);
    return first;
  };
  using enum SymbolBind;
  EXPECT_EQ(best({{"__read", kGlobal}, {"read", kWeak}, {"__GI___libc_read", kLocal}}), "read");
  EXPECT_EQ(best({{"local", kLocal}, {"__global", kGlobal}}), "__global");
  EXPECT_EQ(best({{"weak", kWeak}, {"main", kGlobal}}), "main");
  EXPECT_EQ(best({{"longer", kGlobal}, {"long", kGlobal}}), "long");
  EXPECT_EQ(best({{"bb", kGlobal}, {"ab", kGlobal}}), "ab");
}

TEST(SymbolTable, ALongerAliasHasWhatIsBeyondTheBestName) {
  Symbols symbols;
  symbols.Add("memcpy", 0x100, 0x10);
  symbols.Add("__memcpy_whole", 0x100, 0x40);
  const SymbolTable table = symbols.Build();
  EXPECT_EQ(NameAt(table, 0x10f), "memcpy");
  EXPECT_EQ(NameAt(table, 0x110), "__memcpy_whole");
  EXPECT_EQ(NameAt(table, 0x140), "-");
}

TEST(SymbolTable, AVersionIsNoPartOfTheName) {
  Symbols symbols;
  symbols.Add("memcpy@@GLIBC_2.14", 0x100, 0x10);
  EXPECT_EQ(NameAt(symbols.Build(), 0x100), "memcpy");
}

TEST(SymbolTable, DamagedSymbolsDoNoHarm) {
  constexpr std::uint64_t kMax = ~std::uint64_t{0};
  Symbols symbols;
  symbols.Add("to_the_end", kMax - 0x10, kMax);
  symbols.Add("huge", 0x100, kMax);
  symbols.Add("section_before_it", 0x50, 0).section_end = 0x10;
  symbols.Add("name_outside", 0x60, 0x10).name = 0xffffffff;
  symbols.Add("", 0x70, 0x10);
  const SymbolTable table = symbols.Build();
  EXPECT_EQ(NameAt(table, kMax - 1), "to_the_end");
  EXPECT_EQ(NameAt(table, 0x5f), "-");
  EXPECT_EQ(NameAt(table, 0x60), "-");
  EXPECT_EQ(NameAt(table, 0x70), "-");
  EXPECT_EQ(NameAt(table, 0x100), "huge");
  // Names need not be terminated.
  RawSymbol last;
  last.size = 4;
  EXPECT_EQ(NameAt(SymbolTable({last}, "abc"), 1), "abc");
}

// Against the definition, address by address.
TEST(SymbolTable, AgreesWithALinearSearch) {
  const unsigned seed = 20240611;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    Symbols symbols;
    std::map<std::uint64_t, std::uint64_t> sized;  // start -> size; starts are distinct
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t start = random() % 200;
      const std::uint64_t size = 1 + random() % 60;
      if (sized.emplace(start, size).second) symbols.Add("s" + std::to_string(start), start, size);
    }
    const SymbolTable table = symbols.Build();
    for (std::uint64_t address = 0; address < 280; ++address) {
      std::string expected = "-";
      for (const auto& [start, size] : sized) {
        if (address >= start && address < start + size) expected = "s" + std::to_string(start);
      }
      ASSERT_EQ(NameAt(table, address), expected) << "round " << round << ", address " << address;
    }
  }
}

}  // namespace
}  // namespace profd::elf
