#include "daemon/base/heartbeat.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "daemon/base/clock.h"

namespace profd {
namespace {

using std::chrono::seconds;

std::uint64_t In(seconds time) {
  return SystemClock().MonotonicNs() +
         static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

TEST(HeartbeatTest, AThreadThatHasNotBegunOrHasEndedIsNotStuck) {
  Heartbeat beat("worker");
  EXPECT_EQ(beat.Trouble(In(seconds(1'000))), "");
  { const Heartbeat::Working working(beat); }
  EXPECT_EQ(beat.Trouble(In(seconds(1'000))), "");
  EXPECT_EQ(beat.RoundNs(In(seconds(1'000))), 0u);
}

TEST(HeartbeatTest, ARoundThatLastsForItsBoundIsStuck) {
  Heartbeat beat("worker", Heartbeat::NeededFor::kProfiles, seconds(100));
  const std::uint64_t before_ns = In(seconds(0));
  const Heartbeat::Working working(beat);
  constexpr std::uint64_t kBoundNs = 100'000'000'000;
  EXPECT_EQ(beat.Trouble(before_ns + kBoundNs - 1), "");
  EXPECT_EQ(beat.Trouble(In(seconds(100))), "worker: no progress for 100 s");
  EXPECT_EQ(beat.Trouble(In(seconds(131))), "worker: no progress for 131 s");
  EXPECT_GE(beat.RoundNs(In(seconds(100))), kBoundNs);
}

TEST(HeartbeatTest, EachRoundCountsForItself) {
  Heartbeat beat("worker");
  const Heartbeat::Working working(beat);
  const std::uint64_t late_ns = In(Heartbeat::kBound);
  ASSERT_NE(beat.Trouble(late_ns), "");
  while (In(Heartbeat::kBound) == late_ns) continue;  // the clock has moved on
  beat.Beat();
  EXPECT_EQ(beat.Trouble(late_ns), "");
}

TEST(HeartbeatTest, AWaitMayLastForEver) {
  Heartbeat beat("worker");
  const Heartbeat::Working working(beat);
  std::optional<Heartbeat::Waiting> waiting(beat);
  EXPECT_EQ(beat.Trouble(In(seconds(1'000'000))), "");
  waiting.reset();
  EXPECT_NE(beat.Trouble(In(seconds(1'000'000))), "");
}

TEST(HeartbeatTest, ARoundThatBeganAfterTheTimeWasReadHasLastedForNothing) {
  Heartbeat beat("worker");
  const std::uint64_t before_ns = In(seconds(-1));
  const Heartbeat::Working working(beat);
  EXPECT_EQ(beat.RoundNs(before_ns), 0u);
}

}  // namespace
}  // namespace profd
