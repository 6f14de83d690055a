#include "daemon/unwind/tables/table_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/unit/unwind/vector_maps.h"

namespace profd::unwind {
namespace {

using source::PoolMemory;

std::uint64_t Units(std::uint64_t bytes) { return (bytes + 7) / 8; }

TEST(TablePool, MemoryIsAddedWhenItIsUsed) {
  VectorPoolMemory memory;
  TablePool pool(memory, 4 * PoolMemory::kSlabCost);
  EXPECT_EQ(memory.slabs, 0u);
  ASSERT_TRUE(pool.Allocate(100, 1, 100));
  EXPECT_EQ(memory.slabs, 1u);
  EXPECT_EQ(pool.memory_bytes(), PoolMemory::kSlabCost);
  ASSERT_TRUE(pool.Allocate(PoolMemory::kSlabBytes, 1, 8));
  EXPECT_EQ(memory.slabs, 2u);
}

TEST(TablePool, CapHolds) {
  VectorPoolMemory memory;
  TablePool pool(memory, 2 * PoolMemory::kSlabCost + PoolMemory::kSlabCost / 2);
  std::uint64_t given = 0;
  while (pool.Allocate(1000, 1, 8)) given += 1000;
  EXPECT_EQ(memory.slabs, 2u);
  EXPECT_EQ(pool.memory_bytes(), 2 * PoolMemory::kSlabCost);
  EXPECT_GT(given, 2 * PoolMemory::kSlabBytes - 5000);
  EXPECT_FALSE(pool.Allocate(3 * PoolMemory::kSlabBytes, 1, 8));
}

TEST(TablePool, FreedIsUsedAgainOnlyAfterAWait) {
  VectorPoolMemory memory;
  TablePool pool(memory, PoolMemory::kSlabCost);
  const auto all = pool.Allocate(PoolMemory::kSlabBytes - 512, 1, 8);
  ASSERT_TRUE(all);
  EXPECT_FALSE(pool.Allocate(8, 1, 8));
  EXPECT_EQ(memory.waits, 0u);
  pool.Free(*all, PoolMemory::kSlabBytes - 512);
  EXPECT_EQ(pool.quarantined_bytes(), PoolMemory::kSlabBytes - 512);
  EXPECT_TRUE(pool.Allocate(8, 1, 8));
  EXPECT_EQ(memory.waits, 1u);
  EXPECT_EQ(pool.quarantined_bytes(), 0u);
}

TEST(TablePool, WhatIsFreedIsKeptWhileNoWaitSucceeds) {
  VectorPoolMemory memory;
  TablePool pool(memory, 2 * PoolMemory::kSlabCost);
  const std::uint64_t bytes = PoolMemory::kSlabBytes - 512;
  const auto first = pool.Allocate(bytes, 1, 8);
  ASSERT_TRUE(first);
  pool.Free(*first, bytes);
  memory.broken = true;
  const auto second = pool.Allocate(bytes, 1, 8);  // a new slab instead
  ASSERT_TRUE(second);
  EXPECT_NE(*second, *first);
  EXPECT_FALSE(pool.Allocate(bytes, 1, 8));
  EXPECT_EQ(pool.quarantined_bytes(), bytes);
  memory.broken = false;
  EXPECT_EQ(pool.Allocate(bytes, 1, 8), first);
  EXPECT_EQ(pool.quarantined_bytes(), 0u);
}

// Against a model: every unit is free, in use, or freed since the last wait.
TEST(TablePool, RandomUse) {
  VectorPoolMemory memory;
  TablePool pool(memory, 6 * PoolMemory::kSlabCost);
  enum class Unit : unsigned char { kFree, kUsed, kFreed };
  std::vector<Unit> model(6 * PoolMemory::kSlabBytes / 8, Unit::kFree);
  struct Block {
    Place place;
    std::uint64_t bytes;
  };
  std::vector<Block> blocks;
  std::mt19937 random(1);
  std::size_t waits = 0;
  std::size_t refused = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (blocks.empty() || random() % 100 < 55) {
      const std::uint64_t bytes = random() % 20 == 0 ? random() % 65'576 + 1 : random() % 3'000 + 1;
      const std::uint32_t align = random() % 3 == 0 ? 4 : 1;
      const std::uint64_t whole = std::min<std::uint64_t>(bytes, random() % 2 == 0 ? 40 : 8);
      const auto place = pool.Allocate(bytes, align, whole);
      if (memory.waits != waits) {
        waits = memory.waits;
        for (Unit& unit : model) unit = unit == Unit::kFreed ? Unit::kFree : unit;
      }
      if (!place) {
        ++refused;
        continue;
      }
      ASSERT_GE(*place, 2u);
      ASSERT_EQ(*place % align, 0u);
      ASSERT_LE(*place * 8ull % PROFD_POOL_PAGE_BYTES + whole, std::size_t{PROFD_POOL_PAGE_BYTES});
      ASSERT_LE(*place + Units(bytes), memory.slabs * PoolMemory::kSlabBytes / 8);
      for (std::uint64_t unit = *place; unit < *place + Units(bytes); ++unit) {
        ASSERT_EQ(model[unit], Unit::kFree);
        model[unit] = Unit::kUsed;
      }
      blocks.push_back({*place, bytes});
    } else {
      const std::size_t which = random() % blocks.size();
      const Block block = blocks[which];
      blocks[which] = blocks.back();
      blocks.pop_back();
      pool.Free(block.place, block.bytes);
      for (std::uint64_t unit = block.place; unit < block.place + Units(block.bytes); ++unit)
        model[unit] = Unit::kFreed;
    }
  }
  EXPECT_GT(waits, 0u);
  EXPECT_GT(refused, 0u);
  EXPECT_LT(waits, 2'000u);
  for (const Block& block : blocks) pool.Free(block.place, block.bytes);
  EXPECT_EQ(pool.used_bytes(), 0u);
  // All of it is one again.
  EXPECT_TRUE(pool.Allocate(6 * PoolMemory::kSlabBytes - 512, 1, 8));
}

}  // namespace
}  // namespace profd::unwind
