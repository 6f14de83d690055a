#include "daemon/budget/cpu/cpu_controller.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

using session::SamplingBudget;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kTick = kMeasurementNs;

SamplingBudget Of(double cpus) { return {.limited = true, .cpus = cpus}; }

// Readings that count up from one that is complete.
class CpuControllerTest : public ::testing::Test {
 protected:
  CpuControllerTest() {
    now_.now_ns = 1'000 * kMs;
    now_.kernel.sampling.requested = Of(0.01);
    now_.kernel.sampling.background = Of(0.01);
    (void)controller_.Update(now_);
  }
  CpuController::Changes Tick(std::uint64_t ns = kTick) {
    now_.now_ns += ns;
    return controller_.Update(now_);
  }
  [[nodiscard]] const SamplingStatus& requested() const {
    return controller_.status().sampling.requested;
  }
  [[nodiscard]] const SamplingStatus& background() const {
    return controller_.status().sampling.background;
  }

  CpuController controller_{0.1};
  CpuController::Reading now_;
};

TEST_F(CpuControllerTest, AMeasurementEndsOnceItHasCostMoreThanAllOfItMay) {
  constexpr std::uint64_t kMayCost = kMeasurementNs / 100;
  EXPECT_FALSE(IsComplete(kMeasurementNs / 5, kMayCost, Of(0.01)));
  EXPECT_TRUE(IsComplete(kMeasurementNs / 5, kMayCost + 1, Of(0.01)));
  EXPECT_FALSE(IsComplete(kMeasurementNs - 1, 0, Of(0.01)));
  EXPECT_TRUE(IsComplete(kMeasurementNs, 0, Of(0.01)));
  EXPECT_FALSE(IsComplete(kMeasurementNs - 1, kMeasurementNs, {})) << "no limit";
  EXPECT_DOUBLE_EQ(MeanCpus(kMeasurementNs / 5, kMayCost), 0.01) << "as if nothing more were spent";
  EXPECT_DOUBLE_EQ(MeanCpus(2 * kMeasurementNs, kMayCost), 0.005);
}

TEST_F(CpuControllerTest, SamplesPayForNoMoreThanTheyCanTake) {
  EXPECT_EQ(SpentOnSamples(40'000, {.samples = 1}), 40'000);
  EXPECT_EQ(SpentOnSamples(900'000, {.samples = 1}), kMostPerSampleNs) << "a process began";
  EXPECT_EQ(SpentOnSamples(900'000, {}), 0);
  EXPECT_EQ(SpentOnSamples(0, {}), 0);
  EXPECT_EQ(SpentOnSamples(900'000, {.samples = ~0ull}), 900'000);
}

TEST_F(CpuControllerTest, SamplesDoNotPayForOtherEvents) {
  EXPECT_EQ(SpentOnSamples(900'000, {.samples = 10, .others = 80}), 300'000);
  EXPECT_EQ(SpentOnSamples(900'000, {.samples = 10, .snapshots = 20}), 300'000);
  // A storm of threads while few samples are taken: the periods stay as they were.
  for (int tick = 0; tick < 8; ++tick) {
    now_.stages_ns += 60 * kMs;
    now_.samples.background.off_cpu += 10;
    now_.others += 10'000;
    EXPECT_FALSE(Tick().factors) << tick;
  }
}

TEST_F(CpuControllerTest, StagesAreSharedOutByTheNumberOfSamples) {
  now_.kernel.sampling.requested.limited = false;  // the raw cost is reported
  now_.kernel.sampling.background.limited = false;
  now_.stages_ns = 4 * kMs;
  now_.samples.requested = {.on_cpu = 20, .off_cpu = 10};
  now_.samples.background = {.on_cpu = 5, .off_cpu = 5};
  now_.kernel.sampling.requested.spent_ns = 1 * kMs;
  (void)Tick();
  EXPECT_DOUBLE_EQ(requested().spent_cpus, 4.0 / 250) << "3 of 4 ms, and 1 ms of the programs";
  EXPECT_DOUBLE_EQ(background().spent_cpus, 1.0 / 250);
}

TEST_F(CpuControllerTest, AnExpensiveMeasurementEndsEarlyAndRaisesOnlyItsOwnKind) {
  now_.kernel.sampling.requested.spent_ns = 20 * kMs;
  const auto changes = Tick(50 * kMs);
  ASSERT_TRUE(changes.factors);
  EXPECT_GT(changes.factors->requested.off_cpu, 1);
  EXPECT_EQ(changes.factors->background, session::PeriodFactors{});
  EXPECT_EQ(requested().factors, changes.factors->requested);
  EXPECT_EQ(requested().off_cpu_changes, 1u);
  EXPECT_EQ(requested().on_cpu_changes, 0u) << "on-CPU periods were requested";
  EXPECT_EQ(background().off_cpu_changes, 0u);
}

TEST_F(CpuControllerTest, ACheapMeasurementTakesItsWholeTimeAndChangesNothing) {
  now_.kernel.sampling.requested.spent_ns = kMs;
  EXPECT_FALSE(Tick(kTick / 5).factors);
  EXPECT_EQ(requested().spent_cpus, 0) << "not complete";
  EXPECT_FALSE(Tick(kTick - kTick / 5).factors);
  EXPECT_DOUBLE_EQ(requested().spent_cpus, 0.5 / 250) << "smoothed with the measurement before";
}

TEST_F(CpuControllerTest, ANewSessionStartsWithTheRequestedPeriods) {
  now_.kernel.sampling.requested.spent_ns = 20 * kMs;
  ASSERT_GT(Tick().factors->requested.off_cpu, 1);
  now_.kernel.sampling.requested.spent_ns = 60 * kMs;
  ++now_.kernel.sampling.requested.starts;
  const auto changes = Tick(kMs);
  ASSERT_TRUE(changes.factors);
  EXPECT_EQ(changes.factors->requested, session::PeriodFactors{}) << "what came before is not its";
  EXPECT_FALSE(Tick().factors) << "it has cost nothing since";
}

TEST_F(CpuControllerTest, CountersThatGoBackAreNoCost) {
  now_.stages_ns = 100 * kMs;
  now_.kernel.sampling.requested.spent_ns = kMs;
  now_.kernel.clock_ns = kMs;
  (void)Tick();
  now_.stages_ns = 50 * kMs;
  now_.samples.requested.on_cpu = 1;
  now_.kernel.sampling.requested.spent_ns = 0;
  now_.kernel.clock_ns = 0;
  EXPECT_FALSE(Tick().factors);
  EXPECT_LT(requested().spent_cpus, 0.01);
  EXPECT_LT(controller_.status().clock.spent_cpus, 0.01);
}

TEST_F(CpuControllerTest, ReadingsAreFrequentWhileARequestedSessionIsLimited) {
  EXPECT_TRUE(controller_.needs_frequent_readings());
  now_.kernel.sampling.requested = {};
  (void)Tick();
  EXPECT_FALSE(controller_.needs_frequent_readings());
}

TEST_F(CpuControllerTest, ExpensiveClocksRefuseHooksOnce) {
  now_.host_switches = 1'000'000;
  EXPECT_EQ(Tick().hooks_refused, std::nullopt) << "the first reading is no growth";
  const auto expensive = [this] {
    now_.kernel.clock_ns += kTick;
    now_.kernel.switches += 1'000'000;
    *now_.host_switches += 1'000'000;
  };
  expensive();
  EXPECT_EQ(Tick().hooks_refused, true);
  EXPECT_TRUE(controller_.status().clock.hooks_refused);
  EXPECT_EQ(controller_.status().clock.limit_cpus, 0.1);
  expensive();
  EXPECT_EQ(Tick().hooks_refused, std::nullopt) << "they are refused";
  now_.host_switches.reset();
  now_.kernel.clock_ns += kTick;
  EXPECT_EQ(Tick().hooks_refused, std::nullopt) << "not measured";
}

TEST_F(CpuControllerTest, WithoutSnapshotModeClocksHaveNoLimit) {
  now_.host_switches = 1'000'000;
  (void)Tick();
  *now_.host_switches += 100'000'000;
  ASSERT_EQ(Tick().hooks_refused, true);
  controller_.AllowHooks();
  EXPECT_FALSE(controller_.status().clock.hooks_refused);
  EXPECT_EQ(controller_.status().clock.limit_cpus, 0);
  *now_.host_switches += 100'000'000;
  EXPECT_EQ(Tick().hooks_refused, std::nullopt);
}

}  // namespace
}  // namespace profd::budget
