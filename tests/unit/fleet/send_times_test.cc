#include "daemon/fleet/spool/send_times.h"

#include <gtest/gtest.h>

namespace profd::fleet {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kNow = 1'000 * kSecondNs;

TEST(SendTimes, ANewWindowWaitsForARandomPartOfTheInterval) {
  SendTimes times(60 * kSecondNs);
  EXPECT_EQ(times.next_ns(), 0u);
  times.Began(kNow, 17 * kSecondNs);
  EXPECT_EQ(times.next_ns(), kNow + 17 * kSecondNs);
  SendTimes long_interval(3'600 * kSecondNs);
  long_interval.Began(kNow, 61 * kSecondNs);
  EXPECT_EQ(long_interval.next_ns(), kNow + kSecondNs);  // at most a minute
}

TEST(SendTimes, ANewWindowDoesNotShortenAPause) {
  SendTimes times(60 * kSecondNs);
  times.Failed(kNow, 100 * kSecondNs, 0);
  times.Began(kNow, 1);
  EXPECT_EQ(times.next_ns(), kNow + 100 * kSecondNs);
}

TEST(SendTimes, ABacklogIsSentFourTimesAsFastAsItGrew) {
  SendTimes times(60 * kSecondNs);
  times.Ended(kNow, 60 * kSecondNs, true, 0);
  EXPECT_EQ(times.next_ns(), kNow + 15 * kSecondNs / 2);
  times.Ended(kNow, 60 * kSecondNs, true, 15 * kSecondNs - 1);
  EXPECT_EQ(times.next_ns(), kNow + 15 * kSecondNs * 3 / 2 - 1);
  times.Ended(kNow, 60 * kSecondNs, false, 15 * kSecondNs - 1);
  EXPECT_EQ(times.next_ns(), kNow);
  times.Ended(kNow, 3, true, 99);  // a part of a window that was split
  EXPECT_EQ(times.next_ns(), kNow);
}

TEST(SendTimes, PausesGrowUntilARequestEnds) {
  SendTimes times(60 * kSecondNs);
  for (const std::uint64_t tenths : {1, 2, 4, 8}) {
    times.Failed(kNow, 0, 0);
    EXPECT_EQ(times.next_ns(), kNow + tenths * kSecondNs / 10);
  }
  times.Failed(kNow, 5 * kSecondNs, 0);
  EXPECT_EQ(times.next_ns(), kNow + 5 * kSecondNs);
  times.Ended(kNow, 0, true, 0);
  times.Failed(kNow, 0, 0);
  EXPECT_EQ(times.next_ns(), kNow + kSecondNs / 10);
}

}  // namespace
}  // namespace profd::fleet
