#include "daemon/aggregate/profile.h"

#include <gtest/gtest.h>

namespace profd::aggregate {
namespace {

// A thread of 1,000 ns whose states add up to `sum_ns`.
ProfileThread Thread(std::uint64_t sum_ns) {
  ProfileThread thread;
  thread.begin_ns = 5'000;
  thread.end_ns = 6'000;
  thread.clock.on_cpu_ns = sum_ns - 100;
  thread.clock.blocked_ns[PROFD_IOWAIT] = 60;
  thread.clock.runnable_ns[0] = 40;
  return thread;
}

TEST(ClosureErrorTest, OfAThreadTheWorstAndTheSum) {
  Profile profile;
  profile.threads = {Thread(1'010), Thread(980), Thread(1'000)};
  EXPECT_DOUBLE_EQ(ClosureError(profile.threads[0]), 0.01);
  EXPECT_DOUBLE_EQ(ClosureError(profile.threads[1]), -0.02);
  EXPECT_DOUBLE_EQ(WorstClosureError(profile), 0.02);
  EXPECT_DOUBLE_EQ(SumClosureError(profile), -10.0 / 3'000);
}

TEST(ClosureErrorTest, LongerThreadsCountForMoreInTheSum) {
  Profile profile;
  profile.threads = {Thread(1'010), Thread(3'000)};
  profile.threads[1].end_ns = 8'000;
  EXPECT_DOUBLE_EQ(SumClosureError(profile), 10.0 / 4'000);
}

TEST(ClosureErrorTest, ThreadsWithoutAClockDoNotCount) {
  Profile profile;
  EXPECT_EQ(SumClosureError(profile), 0);
  profile.threads = {Thread(100)};
  profile.threads[0].clock_missing = true;
  EXPECT_EQ(WorstClosureError(profile), 0);
  EXPECT_EQ(SumClosureError(profile), 0);
}

}  // namespace
}  // namespace profd::aggregate
