#include "daemon/elf/symbols/symbol_index.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/private_file.h"
#include "tests/unit/elf/elf_builder.h"

namespace profd::elf {
namespace {

using testing::BuildElf;
using testing::BuiltSymbol;
using testing::ElfPlan;
using testing::kTextBytes;
using testing::kTextVaddr;

std::shared_ptr<const UniqueFd> NewFile() {
  auto file = MakeUnnamedFile();
  EXPECT_TRUE(file) << file.error().message;
  return std::make_shared<const UniqueFd>(*std::move(file));
}

struct Written {
  std::shared_ptr<const UniqueFd> file;
  Result<std::vector<IndexBlock>> blocks = Error{};
};

Written Write(const std::string& elf, const ElfLimits& limits) {
  const MemoryBytes source(std::as_bytes(std::span(elf)));
  Written written{NewFile()};
  const auto contents = ReadElfContents(source, limits);
  EXPECT_TRUE(contents && contents->large_symtab);
  if (contents) written.blocks = WriteSymbolIndex(source, *contents, limits, written.file->get());
  return written;
}

std::string Text(const std::optional<SymbolRange>& symbol) {
  return symbol ? "'" + std::string(symbol->name) + "' from " + std::to_string(symbol->begin) : "-";
}

// Functions of all kinds, on and in each other, with aliases.
std::vector<BuiltSymbol> RandomSymbols(std::mt19937_64& random, std::size_t count) {
  std::vector<BuiltSymbol> symbols;
  for (std::size_t i = 0; i < count; ++i) {
    const bool alias = !symbols.empty() && random() % 4 == 0;
    BuiltSymbol symbol;
    symbol.name = std::string(random() % 3, '_') + "f" + std::to_string(i);
    symbol.value =
        alias ? symbols[random() % symbols.size()].value : kTextVaddr + random() % kTextBytes;
    symbol.size = random() % 6 == 0 ? 0 : random() % (random() % 10 == 0 ? 300 : 12);
    symbol.bind = static_cast<unsigned>(random() % 3);
    symbol.type = random() % 8 == 0 ? STT_NOTYPE : STT_FUNC;
    symbols.push_back(symbol);
  }
  return symbols;
}

TEST(SymbolIndex, HasTheNamesOfATableInMemory) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937_64 random(seed);
    ElfPlan plan;
    plan.symtab = RandomSymbols(random, 600);
    const std::string elf = BuildElf(plan);
    const auto whole = ReadElf(MemoryBytes(std::as_bytes(std::span(elf))));
    ASSERT_TRUE(whole);
    ElfLimits limits;
    limits.symbols = 200;
    limits.string_bytes = 1'200;  // less than the names of a part, so that parts become smaller
    const Written written = Write(elf, limits);
    ASSERT_TRUE(written.blocks) << written.blocks.error().message;
    EXPECT_GT(written.blocks->size(), 3u);
    const auto index = SymbolIndex::Open(written.file, *written.blocks);
    ASSERT_TRUE(index) << index.error().message;
    for (std::uint64_t vaddr = kTextVaddr - 2; vaddr < kTextVaddr + kTextBytes + 400; ++vaddr) {
      ASSERT_EQ(Text(index->Find(vaddr)), Text((*whole)->FindSymbol(vaddr)))
          << "seed " << seed << ", " << vaddr;
    }
  }
}

TEST(SymbolIndex, HoldsFewBytesOfManySymbols) {
  ElfPlan plan;
  for (std::uint64_t i = 0; i < 20'000; ++i)
    plan.symtab.push_back({"function_" + std::to_string(i), kTextVaddr + i * 16, 16});
  ElfLimits limits;
  limits.symbols = 1'000;
  const Written written = Write(BuildElf(plan), limits);
  ASSERT_TRUE(written.blocks) << written.blocks.error().message;
  const auto index = SymbolIndex::Open(written.file, *written.blocks);
  ASSERT_TRUE(index);
  EXPECT_EQ(Text(index->Find(kTextVaddr + 12'345 * 16 + 7)),
            "'function_12345' from " + std::to_string(kTextVaddr + 12'345 * 16));
  EXPECT_LT(index->bytes(), 20'000u);
}

TEST(SymbolIndex, RefusesMoreThanItsLimits) {
  ElfPlan plan;
  std::mt19937_64 random(1);
  plan.symtab = RandomSymbols(random, 600);
  ElfLimits limits;
  limits.symbols = 100;
  limits.indexed_symbols = 500;
  EXPECT_EQ(Write(BuildElf(plan), limits).blocks.error().message,
            "symbols: 601, more than the bound of 500");
  limits.indexed_symbols = 1'000;
  limits.index_bytes = 2'000;
  EXPECT_EQ(Write(BuildElf(plan), limits).blocks.error().message,
            "an index of its symbols would be too large");
}

TEST(SymbolIndex, RefusesMoreInOnePlaceThanFitsInMemory) {
  ElfPlan plan;
  for (int i = 0; i < 600; ++i)
    plan.symtab.push_back({"f" + std::to_string(i), kTextVaddr + 8, kTextBytes - 8});
  ElfLimits limits;
  limits.symbols = 100;
  const auto written = Write(BuildElf(plan), limits);
  EXPECT_EQ(written.blocks.error().code, ErrorCode::kExhausted);
  EXPECT_EQ(written.blocks.error().message, "too many symbols in one place");
}

TEST(SymbolIndex, AnyDamageLeavesOnlyNamesOut) {
  ElfPlan plan;
  std::mt19937_64 random(2);
  plan.symtab = RandomSymbols(random, 400);
  ElfLimits limits;
  limits.symbols = 100;
  const Written written = Write(BuildElf(plan), limits);
  ASSERT_TRUE(written.blocks);
  const auto look_at_all = [&] {
    const auto index = SymbolIndex::Open(written.file, *written.blocks);
    ASSERT_TRUE(index);
    for (std::uint64_t vaddr = kTextVaddr; vaddr < kTextVaddr + kTextBytes; ++vaddr) {
      const auto found = index->Find(vaddr);
      if (!found) continue;
      ASSERT_TRUE(vaddr >= found->begin && vaddr < found->end);
      ASSERT_LE(found->name.size(), SymbolTable::kMaxNameBytes);
    }
  };
  const auto bytes = ::lseek(written.file->get(), 0, SEEK_END);
  for (int i = 0; i < 50; ++i) {
    const std::string noise(64, static_cast<char>(random()));
    const auto at = static_cast<off_t>(random() % static_cast<std::uint64_t>(bytes));
    ASSERT_EQ(::pwrite(written.file->get(), noise.data(), noise.size(), at), 64);
    look_at_all();
  }
  ASSERT_EQ(::ftruncate(written.file->get(), 100), 0);
  look_at_all();
}

TEST(SymbolIndex, BlocksThatMakeNoSenseAreRefused) {
  const auto code_of = [](std::vector<IndexBlock> blocks) {
    const auto index = SymbolIndex::Open(NewFile(), std::move(blocks));
    return index ? ErrorCode{} : index.error().code;
  };
  EXPECT_EQ(code_of({{0x2000, 0, 1, 1}, {0x1000, 17, 1, 1}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of({{0x2000, 0, 65, 1}}), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of({{0x2000, 0, 1, 0xffffffff}}), ErrorCode::kCorrupt);
  const auto empty = SymbolIndex::Open(NewFile(), {});
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->Find(0x2000), std::nullopt);
}

}  // namespace
}  // namespace profd::elf
