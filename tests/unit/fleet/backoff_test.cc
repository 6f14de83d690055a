#include "daemon/fleet/spool/backoff.h"

#include <gtest/gtest.h>

namespace profd::fleet {
namespace {

TEST(BackoffTest, BoundsDoubleUpToFiveMinutesAndBeginAgain) {
  Backoff backoff;
  // Random 0 is the least pause of each bound: a tenth of it.
  for (const std::uint64_t seconds : {1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300})
    EXPECT_EQ(backoff.NextNs(0), seconds * 100'000'000);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(backoff.NextNs(0), Backoff::kMostNs / 10);
  backoff.Reset();
  EXPECT_EQ(backoff.NextNs(0), Backoff::kFirstNs / 10);
}

TEST(BackoffTest, TheRandomNumberChoosesWithinTheBound) {
  Backoff backoff;
  EXPECT_EQ(backoff.NextNs(123'456'789), 223'456'789u);
  backoff.Reset();
  EXPECT_EQ(backoff.NextNs(899'999'999), 999'999'999u);
  backoff.Reset();
  EXPECT_LT(backoff.NextNs(UINT64_MAX), Backoff::kFirstNs);
}

}  // namespace
}  // namespace profd::fleet
