#include "daemon/budget/cpu/clock_controller.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

constexpr std::uint64_t kTickNs = 250'000'000;
constexpr double kLimit = 0.1;
constexpr std::uint64_t kSwitchNs = 200;
constexpr std::uint64_t kCostAtLimit = 25'000'000;  // of clock_ns

class ClockControllerTest : public testing::Test {
 protected:
  // While kernel accounting is in use the hooks take a quarter of what clocks take.
  bool Tick(double of_limit) {
    const auto would_be = static_cast<std::uint64_t>(of_limit * kCostAtLimit);
    accounting_ =
        controller_.Update(accounting_ ? would_be / 4 : would_be, would_be / kSwitchNs, kTickNs);
    return accounting_;
  }

  ClockController controller_{kLimit};
  bool accounting_ = false;
};

TEST_F(ClockControllerTest, ClocksStayBelowIt) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Tick(0.99));
  EXPECT_NEAR(controller_.status().spent_cpus, 0.099, 0.001);
}

TEST_F(ClockControllerTest, OneBurstIsNotEnough) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Tick(0.1));
  EXPECT_FALSE(Tick(1.5));
  EXPECT_FALSE(Tick(0.1));
}

TEST_F(ClockControllerTest, DoesNotSwingWhileTheLoadStays) {
  EXPECT_TRUE(Tick(4));
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(Tick(1.01)) << i;
  EXPECT_TRUE(controller_.status().kernel_accounting);
}

TEST_F(ClockControllerTest, ClocksComeBackAfterACalm) {
  EXPECT_TRUE(Tick(4));
  for (int i = 1; i < ClockController::kCalmTicks; ++i) ASSERT_TRUE(Tick(0.4));
  ASSERT_TRUE(Tick(0.6)) << "not calm enough: counted again";
  for (int i = 1; i < ClockController::kCalmTicks; ++i) ASSERT_TRUE(Tick(0.4));
  EXPECT_FALSE(Tick(0.4));
  EXPECT_FALSE(Tick(0.9)) << "and stay";
}

TEST_F(ClockControllerTest, WithoutALimitOrKernelAccountingThereIsNone) {
  ClockController none(0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(none.Update(kTickNs, 1'000, kTickNs));
  EXPECT_TRUE(Tick(4));
  controller_.Disable();
  EXPECT_FALSE(Tick(4));
}

}  // namespace
}  // namespace profd::budget
