#include "daemon/budget/cpu/period_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace profd::budget {
namespace {

using session::PeriodFactors;
using session::SamplingBudget;

SamplingBudget Of(double cpus, bool on_cpu_adjusts = false) {
  return {.limited = true, .on_cpu_adjusts = on_cpu_adjusts, .cpus = cpus};
}

// A machine whose sampling costs what its periods make it cost, and something that they do not.
struct Machine {
  double off_cpu = 0;  // at factors of 1, in CPUs
  double on_cpu = 0;
  double fixed = 0;
  [[nodiscard]] double Cost(const PeriodFactors& factors) const {
    return off_cpu / factors.off_cpu + on_cpu / factors.on_cpu + fixed;
  }
  [[nodiscard]] double OffCpuShare(const PeriodFactors& factors) const {
    const double off = off_cpu / factors.off_cpu;
    return off / std::max(off + on_cpu / factors.on_cpu, 1e-9);
  }
};

// Factors after each update. The cost of each update follows from the factors before it.
std::vector<PeriodFactors> Watch(PeriodController& controller, const Machine& machine,
                                 const SamplingBudget& budget, int updates,
                                 PeriodFactors last = {}) {
  std::vector<PeriodFactors> all;
  for (int i = 0; i < updates; ++i) {
    last = controller.Update(machine.Cost(last), machine.OffCpuShare(last), budget);
    all.push_back(last);
  }
  return all;
}

TEST(PeriodController, LeavesAloneWhatStaysInItsBudget) {
  PeriodController controller;
  for (const PeriodFactors& factors : Watch(controller, {.off_cpu = 0.009}, Of(0.01), 100)) {
    EXPECT_EQ(factors.off_cpu, 1);
    EXPECT_EQ(factors.on_cpu, 1);
  }
}

TEST(PeriodController, BringsTheCostBelowTheBudgetAndKeepsItThere) {
  for (const double excess : {1.2, 3.0, 40.0, 150.0}) {
    PeriodController controller;
    const Machine machine{.off_cpu = 0.01 * excess};
    const auto factors = Watch(controller, machine, Of(0.01), 200);
    for (std::size_t i = 10; i < factors.size(); ++i)
      EXPECT_LE(machine.Cost(factors[i]), 0.01) << excess << " at update " << i;
    EXPECT_EQ(factors.back().on_cpu, 1) << "on-CPU periods were requested";
  }
}

TEST(PeriodController, DoesNotSwingWhileTheLoadStaysTheSame) {
  for (const double excess : {1.2, 3.0, 40.0, 150.0}) {
    PeriodController controller;
    const auto factors = Watch(controller, {.off_cpu = 0.01 * excess}, Of(0.01), 400);
    const auto settled = std::vector(factors.begin() + 200, factors.end());
    const auto [least, most] = std::ranges::minmax(settled, {}, &PeriodFactors::off_cpu);
    EXPECT_EQ(least.off_cpu, most.off_cpu) << excess;
  }
}

TEST(PeriodController, LowersAgainWhenTheLoadHasGone) {
  PeriodController controller;
  const auto busy = Watch(controller, {.off_cpu = 0.5}, Of(0.01), 50);
  ASSERT_GT(busy.back().off_cpu, 40);
  const auto calm = Watch(controller, {.off_cpu = 0.002}, Of(0.01), 100, busy.back());
  EXPECT_EQ(calm.back().off_cpu, 1);
  EXPECT_TRUE(std::ranges::is_sorted(calm, std::ranges::greater{}, &PeriodFactors::off_cpu));
}

TEST(PeriodController, OffCpuPeriodsAreDoubledAndHalved) {
  for (const double on_cpu : {0.0, 0.004}) {
    for (const double excess : {0.3, 0.9, 1.2, 1.7, 3.0, 40.0, 1'000.0}) {
      PeriodController controller;
      auto factors = Watch(controller, {.off_cpu = 0.01 * excess, .on_cpu = on_cpu}, Of(0.01), 50);
      const auto calm =
          Watch(controller, {.off_cpu = 0.002, .on_cpu = on_cpu}, Of(0.01), 100, factors.back());
      factors.insert(factors.end(), calm.begin(), calm.end());
      for (const PeriodFactors& factor : factors) {
        int exponent = 0;
        EXPECT_EQ(std::frexp(factor.off_cpu, &exponent), 0.5) << factor.off_cpu;
      }
    }
  }
}

// A half more often would be too often again.
TEST(PeriodController, OffCpuPeriodsGoNoFurtherThanTheirLongest) {
  PeriodController controller;
  SamplingBudget budget = Of(0.01, true);
  budget.most_off_cpu_factor = 16;
  const Machine machine{.off_cpu = 0.4, .on_cpu = 0.02};
  const auto factors = Watch(controller, machine, budget, 50);
  EXPECT_EQ(std::ranges::max(factors, {}, &PeriodFactors::off_cpu).off_cpu, 16);
  EXPECT_GT(factors.back().on_cpu, 1) << "and so on-CPU periods give way";
}

TEST(PeriodController, StaysWhereTheHalfOfAPeriodWouldCostTooMuch) {
  PeriodController controller;
  const Machine busy{.off_cpu = 0.03};
  const auto raised = Watch(controller, busy, Of(0.01), 20);
  ASSERT_EQ(raised.back().off_cpu, 4);
  const Machine less{.off_cpu = 0.019};  // 0.48 of the budget at 4, 0.95 at 2
  for (const PeriodFactors& factors : Watch(controller, less, Of(0.01), 100, raised.back()))
    EXPECT_EQ(factors.off_cpu, 4);
  const Machine little{.off_cpu = 0.016};
  const auto lowered = Watch(controller, little, Of(0.01), 100, raised.back());
  EXPECT_EQ(lowered.back().off_cpu, 2);
}

TEST(PeriodController, OneExpensiveMeasurementRaisesOnlyOnce) {
  PeriodController controller;
  (void)controller.Update(0.001, 1, Of(0.01));
  const auto burst = controller.Update(0.1, 1, Of(0.01));
  EXPECT_GT(burst.off_cpu, 1);
  EXPECT_LE(controller.Update(0.001, 1, Of(0.01)).off_cpu, burst.off_cpu);
  EXPECT_LE(controller.Update(0.001, 1, Of(0.01)).off_cpu, burst.off_cpu);
}

TEST(PeriodController, DoesNotSmoothAMeasurementThatEndedEarly) {
  PeriodController controller;
  (void)controller.Update(0, 1, Of(0.01));
  const auto factors = controller.Update(0.08, 1, Of(0.01), true);
  EXPECT_LE(0.08 / factors.off_cpu, 0.01);
  EXPECT_GT(0.08 / factors.off_cpu, 0.008) << "and no more than that";
}

TEST(PeriodController, RaisesOnCpuPeriodsLastAndLowersThemFirst) {
  PeriodController controller;
  const Machine machine{.off_cpu = 0.01, .on_cpu = 0.1};
  const auto busy = Watch(controller, machine, Of(0.02, true), 200);
  for (const PeriodFactors& factors : busy) {
    if (factors.on_cpu > 1) {
      EXPECT_LE(machine.off_cpu / factors.off_cpu, PeriodController::kOffCpuShare * 0.02);
    }
  }
  EXPECT_GT(busy.back().on_cpu, 1);
  EXPECT_LE(machine.Cost(busy.back()), 0.02);
  const auto calm = Watch(controller, {.off_cpu = 0.001}, Of(0.02, true), 100, busy.back());
  for (const PeriodFactors& factors : calm) {
    if (factors.off_cpu < busy.back().off_cpu) {
      EXPECT_EQ(factors.on_cpu, 1);
    }
  }
  EXPECT_EQ(calm.back().off_cpu, 1);
}

TEST(PeriodController, OffCpuSamplesKeepTheirShareWhereThoseOnTheCpuAreTooMany) {
  for (const double off_cpu : {0.001, 0.02, 0.5}) {
    PeriodController controller;
    const Machine machine{.off_cpu = off_cpu, .on_cpu = 0.06};
    const auto factors = Watch(controller, machine, Of(0.05), 100);
    for (std::size_t i = 10; i < factors.size(); ++i) {
      const double cost = off_cpu / factors[i].off_cpu;
      EXPECT_LE(cost, PeriodController::kOffCpuShare * 0.05) << off_cpu;
      EXPECT_GE(cost, std::min(off_cpu, 0.5 * PeriodController::kOffCpuShare * 0.05)) << off_cpu;
      EXPECT_EQ(factors[i].on_cpu, 1) << "on-CPU periods were requested";
    }
  }
}

TEST(PeriodController, OffCpuSamplesComeBackWhereOthersStayTooMany) {
  PeriodController controller;
  const auto busy = Watch(controller, {.off_cpu = 0.5, .on_cpu = 0.06}, Of(0.05), 50);
  ASSERT_GT(busy.back().off_cpu, 10);
  const auto calm =
      Watch(controller, {.off_cpu = 0.005, .on_cpu = 0.06}, Of(0.05), 50, busy.back());
  EXPECT_EQ(calm.back().off_cpu, 1);
}

TEST(PeriodController, FactorsAreBoundedWhereNothingHelps) {
  PeriodController controller;
  const auto factors =
      Watch(controller, {.off_cpu = 0.1, .on_cpu = 0.1, .fixed = 1}, Of(0.01, true), 99);
  EXPECT_LE(factors.back().off_cpu, PeriodController::kMostOffCpu);
  EXPECT_EQ(factors.back().on_cpu, PeriodController::kMostOnCpu);
}

TEST(PeriodController, ABudgetIsOneUnitForEveryEightCpus) {
  EXPECT_EQ(BudgetUnits(0), 1) << "not known";
  EXPECT_EQ(BudgetUnits(2), 1);
  EXPECT_EQ(BudgetUnits(8), 1);
  EXPECT_EQ(BudgetUnits(12), 1.5);
  EXPECT_EQ(BudgetUnits(128), 16);
}

TEST(PeriodController, WithoutALimitNothingIsRaised) {
  PeriodController controller;
  (void)Watch(controller, {.off_cpu = 1}, Of(0.01), 20);
  const auto factors = controller.Update(1, 1, {});
  EXPECT_EQ(factors.off_cpu, 1);
  EXPECT_EQ(factors.on_cpu, 1);
}

}  // namespace
}  // namespace profd::budget
