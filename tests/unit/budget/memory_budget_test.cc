#include "daemon/budget/memory/memory_budget.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

TEST(MemoryBudgetTest, RoomThatWasTakenIsGoneUntilTheNextUpdate) {
  MemoryBudget budget(256 * kMiB);
  EXPECT_FALSE(budget.full());
  EXPECT_TRUE(budget.TakeRoom(kMiB)) << "before the first update all fits";
  budget.Update(true, 100);
  EXPECT_TRUE(budget.full());
  EXPECT_TRUE(budget.TakeRoom(60));
  EXPECT_FALSE(budget.TakeRoom(60));
  EXPECT_TRUE(budget.TakeRoom(40));
  budget.Update(false, 60);
  EXPECT_TRUE(budget.TakeRoom(60));
}

TEST(MemoryBudgetTest, NoSinglePartMayHoldMoreThanAQuarterOfTheCap) {
  const MemoryBudget budget(128 * kMiB);
  const MemoryLimits& limits = budget.limits();
  EXPECT_EQ(budget.cap_bytes(), 128 * kMiB);
  EXPECT_EQ(limits.unwind_tables, 32 * kMiB);
  EXPECT_EQ(limits.debug_info, 24 * kMiB);
  for (const std::uint64_t part :
       {limits.names, limits.symbol_tables, limits.elf_file, limits.queue, limits.session})
    EXPECT_EQ(part, 16 * kMiB);
}

TEST(MemoryBudgetTest, QueriesAreReducedOnlyBelowTheDefaultCap) {
  EXPECT_DOUBLE_EQ(LimitsWithin(128 * kMiB).query, 0.5);
  EXPECT_DOUBLE_EQ(LimitsWithin(256 * kMiB).query, 1);
  EXPECT_DOUBLE_EQ(LimitsWithin(1024 * kMiB).query, 1);
}

}  // namespace
}  // namespace profd::budget
