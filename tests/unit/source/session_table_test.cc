#include "daemon/source/sessions/session_table.h"

#include <gtest/gtest.h>

namespace profd::source {
namespace {

session::SessionSpec Spec(bool on_cpu, bool off_cpu, std::uint64_t period_ns) {
  session::SessionSpec spec;
  spec.on_cpu = on_cpu;
  spec.off_cpu = off_cpu;
  spec.on_cpu_period_ns = period_ns;
  spec.off_cpu_period_ns = 2 * period_ns;
  return spec;
}

TEST(SessionTable, IsEmptyAtFirst) {
  const SessionTable table;
  EXPECT_EQ(table.running(), 0u);
  EXPECT_EQ(table.on_cpu_periods_ns().requested, 0u);
  EXPECT_EQ(table.off_cpu_periods_ns().requested, 0u);
  EXPECT_FALSE(table.clock());
  EXPECT_EQ(table.NextSlot(), 0u);
  EXPECT_EQ(table.Find(0), nullptr);
  EXPECT_EQ(table.Find(PROFD_MAX_SESSIONS), nullptr);
}

TEST(SessionTable, TheFinestPeriodIsInForce) {
  SessionTable table;
  table.Add(0, Spec(true, true, 100));
  table.Add(1, Spec(true, false, 10));
  table.Add(2, Spec(false, true, 30));
  EXPECT_EQ(table.running(), 0b111u);
  EXPECT_EQ(table.on_cpu(), 0b011u);
  EXPECT_EQ(table.off_cpu(), 0b101u);
  EXPECT_EQ(table.on_cpu_periods_ns().requested, 10u);
  EXPECT_EQ(table.off_cpu_periods_ns().requested, 60u);
  table.Remove(1);
  EXPECT_EQ(table.on_cpu_periods_ns().requested, 100u);
  table.Remove(0);
  EXPECT_EQ(table.on_cpu_periods_ns().requested, 0u);
  EXPECT_EQ(table.off_cpu_periods_ns().requested, 60u);
  table.Remove(2);
  EXPECT_EQ(table.off_cpu_periods_ns().requested, 0u);
}

TEST(SessionTable, BackgroundSessionsHavePeriodsOfTheirOwn) {
  SessionTable table;
  auto background = Spec(true, true, 50);
  background.background = true;
  table.Add(0, background);
  EXPECT_EQ(table.on_cpu_periods_ns().requested, 0u);
  EXPECT_EQ(table.on_cpu_periods_ns().background, 50u);
  table.Add(1, Spec(true, true, 10));
  EXPECT_EQ(table.on_cpu_periods_ns().requested, 10u);
  EXPECT_EQ(table.on_cpu_periods_ns().background, 50u);
  EXPECT_EQ(table.off_cpu_periods_ns().requested, 20u);
  EXPECT_EQ(table.off_cpu_periods_ns().background, 100u);
}

TEST(SessionTable, TheFirstBudgetEnds) {
  SessionTable table;
  auto spec = Spec(true, true, 100);
  spec.budget_cpus = 0.02;
  table.Add(0, spec);
  spec.first_budget_cpus = 0.1;
  spec.first_budget_until_ns = 60;
  table.Add(1, spec);
  EXPECT_DOUBLE_EQ(table.budgets(59).requested.cpus, 0.12);
  EXPECT_DOUBLE_EQ(table.budgets(60).requested.cpus, 0.04);
}

TEST(SessionTable, BudgetsOfAKindAddUpAndOneWithoutALimitLiftsAll) {
  SessionTable table;
  EXPECT_FALSE(table.budgets(0).requested.limited);
  EXPECT_FALSE(table.budgets(0).background.limited);
  auto spec = Spec(true, true, 100);
  spec.budget_cpus = 0.01;
  spec.background = true;
  table.Add(0, spec);
  EXPECT_TRUE(table.budgets(0).background.limited);
  EXPECT_TRUE(table.budgets(0).background.on_cpu_adjusts);
  EXPECT_DOUBLE_EQ(table.budgets(0).background.cpus, 0.01);
  EXPECT_FALSE(table.budgets(0).requested.limited);
  spec.budget_cpus = 0.02;
  spec.background = false;
  table.Add(1, spec);
  table.Add(2, spec);
  EXPECT_TRUE(table.budgets(0).requested.limited);
  EXPECT_DOUBLE_EQ(table.budgets(0).requested.cpus, 0.04);
  EXPECT_FALSE(table.budgets(0).requested.on_cpu_adjusts);
  EXPECT_DOUBLE_EQ(table.budgets(0).background.cpus, 0.01);
  EXPECT_TRUE(table.budgets(0).background.on_cpu_adjusts);
  table.Add(3, Spec(true, true, 100));
  EXPECT_FALSE(table.budgets(0).requested.limited);
  EXPECT_TRUE(table.budgets(0).background.limited) << "what others ask for lifts nothing of it";
  table.Remove(3);
  EXPECT_TRUE(table.budgets(0).requested.limited);
}

TEST(SessionTable, SlotsAreReusedAsLateAsPossible) {
  SessionTable table;
  for (std::uint32_t i = 0; i < PROFD_MAX_SESSIONS; ++i) {
    ASSERT_EQ(table.NextSlot(), i);
    table.Add(i, Spec(true, true, 1));
    table.Remove(i);
  }
  EXPECT_EQ(table.NextSlot(), 0u);
}

TEST(SessionTable, AllSlotsCanBeInUseAndNoMore) {
  SessionTable table;
  for (std::uint32_t i = 0; i < PROFD_MAX_SESSIONS; ++i)
    table.Add(table.NextSlot().value(), Spec(true, true, 1));
  EXPECT_EQ(table.running(), ~std::uint64_t{0});
  EXPECT_FALSE(table.NextSlot());
  table.Remove(17);
  EXPECT_EQ(table.NextSlot(), 17u);
}

TEST(SessionTable, TheClockIsThatOfOnCpuSessions) {
  SessionTable table;
  session::SessionSpec spec = Spec(false, true, 1);
  spec.clock = session::OnCpuClock::kHardwareCycles;
  table.Add(0, spec);
  EXPECT_FALSE(table.clock());
  table.Add(1, Spec(true, true, 1));
  EXPECT_EQ(table.clock(), session::OnCpuClock::kCpuClock);
}

}  // namespace
}  // namespace profd::source
