#include "daemon/base/clock.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tests/support/manual_clock.h"

namespace profd {
namespace {

std::uint64_t Now(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(ClockTest, SystemClockIsTheKernels) {
  const SystemClock clock;
  const std::uint64_t before = Now(CLOCK_MONOTONIC);
  const std::uint64_t now = clock.MonotonicNs();
  EXPECT_LE(before, now);
  EXPECT_LE(now, Now(CLOCK_MONOTONIC));
  // Real time may be set at any moment; it is after the day this was written all the same.
  EXPECT_GT(clock.RealtimeNs(), 1'700'000'000'000'000'000u);
}

TEST(ClockTest, ManualClockStandsStill) {
  test::ManualClock clock;
  clock.Set(1, 2);
  EXPECT_EQ(clock.MonotonicNs(), 1u);
  EXPECT_EQ(clock.RealtimeNs(), 2u);
  EXPECT_EQ(clock.MonotonicNs(), 1u);
}

}  // namespace
}  // namespace profd
