#include "daemon/budget/cpu/clock_controller.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

constexpr std::uint64_t kTickNs = 1'000'000'000;
constexpr double kLimit = 0.1;
constexpr std::uint64_t kSwitchNs = 400;
constexpr std::uint64_t kSwitchesAtLimit = 250'000;  // of 400 ns, in a tick

class ClockControllerTest : public testing::Test {
 protected:
  // Hooks that are refused are detached: they see nothing and cost nothing.
  bool Tick(double of_limit) {
    const auto switches = static_cast<std::uint64_t>(of_limit * kSwitchesAtLimit);
    const std::uint64_t seen = refused_ ? 0 : switches;
    refused_ = controller_.Update({.elapsed_ns = kTickNs,
                                   .clock_ns = seen * kSwitchNs,
                                   .switches = seen,
                                   .host_switches = switches});
    return refused_;
  }

  ClockController controller_{kLimit};
  bool refused_ = false;
};

TEST_F(ClockControllerTest, ClocksStayBelowIt) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Tick(0.99));
  EXPECT_NEAR(controller_.status().spent_cpus, 0.099, 1e-6);
  EXPECT_NEAR(controller_.status().needed_cpus, 0.099, 1e-6);
}

TEST_F(ClockControllerTest, OneBurstIsNotEnough) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Tick(0.1));
  EXPECT_FALSE(Tick(1.5));
  EXPECT_FALSE(Tick(0.1));
}

TEST_F(ClockControllerTest, DoesNotSwingWhileTheLoadStays) {
  EXPECT_TRUE(Tick(4));
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(Tick(1.01)) << i;
  EXPECT_NEAR(controller_.status().spent_cpus, 0, 1e-6);
  EXPECT_NEAR(controller_.status().needed_cpus, 0.101, 1e-6) << "at the price of a switch before";
}

TEST_F(ClockControllerTest, HooksComeBackAfterACalm) {
  EXPECT_TRUE(Tick(4));
  for (int i = 1; i < ClockController::kCalmTicks; ++i) ASSERT_TRUE(Tick(0.4));
  ASSERT_TRUE(Tick(0.6)) << "not calm enough: counted again";
  for (int i = 1; i < ClockController::kCalmTicks; ++i) ASSERT_TRUE(Tick(0.4));
  EXPECT_FALSE(Tick(0.4));
  EXPECT_FALSE(Tick(0.9)) << "and stay";
}

TEST_F(ClockControllerTest, HooksThatWereNeverAttachedAreExpectedToHaveTheUsualPrice) {
  ClockController controller(kLimit);
  const std::uint64_t at_limit = kTickNs * kLimit / ClockController::kUsualNs;
  const auto tick = [&](std::uint64_t switches) {
    return controller.Update({.elapsed_ns = kTickNs, .host_switches = switches});
  };
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(tick(at_limit * 99 / 100));
  for (int i = 0; i < 100; ++i) (void)tick(at_limit * 101 / 100);
  EXPECT_TRUE(controller.status().hooks_refused);
}

TEST_F(ClockControllerTest, WithoutALimitOrSnapshotModeThereIsNone) {
  ClockController none(0);
  for (int i = 0; i < 10; ++i)
    EXPECT_FALSE(none.Update({.elapsed_ns = kTickNs, .host_switches = 1'000'000'000}));
  EXPECT_TRUE(Tick(4));
  controller_.Disable();
  EXPECT_FALSE(Tick(4));
}

}  // namespace
}  // namespace profd::budget
