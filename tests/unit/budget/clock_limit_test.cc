#include "daemon/budget/clock_limit.h"

#include <gtest/gtest.h>

namespace profd::budget {
namespace {

constexpr std::uint64_t kLookNs = 250'000'000;
constexpr double kLimit = 0.1;
constexpr std::uint64_t kSwitchNs = 200;
constexpr std::uint64_t kLookAtLimit = 25'000'000;  // of clock_ns

class ClockLimitTest : public testing::Test {
 protected:
  // While kernel accounting is in use the hooks take a quarter of what clocks take.
  bool Look(double of_limit) {
    const auto would_be = static_cast<std::uint64_t>(of_limit * kLookAtLimit);
    accounting_ = limit_.Look(accounting_ ? would_be / 4 : would_be, would_be / kSwitchNs, kLookNs);
    return accounting_;
  }

  budget::ClockLimit limit_{kLimit};
  bool accounting_ = false;
};

TEST_F(ClockLimitTest, ClocksStayBelowIt) {
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Look(0.99));
  EXPECT_NEAR(limit_.status().spent_cpus, 0.099, 0.001);
}

TEST_F(ClockLimitTest, OneBurstIsNotEnough) {
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(Look(0.1));
  EXPECT_FALSE(Look(1.5));
  EXPECT_FALSE(Look(0.1));
}

TEST_F(ClockLimitTest, DoesNotSwingWhileTheLoadStays) {
  EXPECT_TRUE(Look(4));
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(Look(1.01)) << i;
  EXPECT_TRUE(limit_.status().kernel_accounting);
}

TEST_F(ClockLimitTest, ClocksComeBackAfterACalm) {
  EXPECT_TRUE(Look(4));
  for (int i = 1; i < budget::ClockLimit::kCalmLooks; ++i) ASSERT_TRUE(Look(0.4));
  ASSERT_TRUE(Look(0.6)) << "not calm enough: counted again";
  for (int i = 1; i < budget::ClockLimit::kCalmLooks; ++i) ASSERT_TRUE(Look(0.4));
  EXPECT_FALSE(Look(0.4));
  EXPECT_FALSE(Look(0.9)) << "and stay";
}

TEST_F(ClockLimitTest, WithoutALimitOrBooksThereIsNone) {
  budget::ClockLimit none(0);
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(none.Look(kLookNs, 1'000, kLookNs));
  EXPECT_TRUE(Look(4));
  limit_.GiveUp();
  EXPECT_FALSE(Look(4));
}

}  // namespace
}  // namespace profd::budget
