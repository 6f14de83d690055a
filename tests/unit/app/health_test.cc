#include "daemon/app/parts/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "daemon/base/clock.h"

namespace profd::app {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The time of day that it will be.
class LaterClock : public SystemClock {
 public:
  [[nodiscard]] std::uint64_t MonotonicNs() const override {
    return SystemClock::MonotonicNs() +
           static_cast<std::uint64_t>(std::chrono::nanoseconds(later).count());
  }
  seconds later{0};
};

class HealthTest : public ::testing::Test {
 protected:
  LaterClock clock_;
  app::Health health_{clock_};
  Heartbeat stage_{"worker"};
  Heartbeat disk_{"recording", Heartbeat::NeededFor::kExtras};
};

TEST_F(HealthTest, NothingIsWrongWhileAllThreadsGoOn) {
  health_.Watch(stage_);
  health_.Watch(disk_);
  const Heartbeat::Working working(stage_);
  const auto report = health_.Check();
  EXPECT_THAT(report.failed, IsEmpty());
  EXPECT_THAT(report.degraded, IsEmpty());
  EXPECT_EQ(health_.Failure(), "");
}

TEST_F(HealthTest, WhatProfilesNeedFailsAndTheRestIsDegraded) {
  health_.Watch({&stage_, &disk_});
  const Heartbeat::Working working(stage_);
  const Heartbeat::Working writing(disk_);
  clock_.later = seconds(40);
  const auto report = health_.Check();
  EXPECT_THAT(report.failed, ElementsAre("worker: no progress for 40 s"));
  EXPECT_THAT(report.degraded, ElementsAre("recording: no progress for 40 s"));
  EXPECT_EQ(health_.Failure(), "worker: no progress for 40 s");
  EXPECT_GE(health_.LongestRoundNs(), 40'000'000'000u);
}

TEST_F(HealthTest, AllThatFailsIsNamed) {
  health_.Watch(stage_);
  health_.Watch([](std::uint64_t, HealthReport& report) {
    report.failed.emplace_back("readers: the process that makes them has ended");
    report.degraded.emplace_back("readers of symbols: all are stuck");
  });
  const Heartbeat::Working working(stage_);
  clock_.later = seconds(31);
  EXPECT_EQ(health_.Failure(),
            "worker: no progress for 31 s; readers: the process that makes them has ended");
  EXPECT_THAT(health_.Check().degraded, ElementsAre("readers of symbols: all are stuck"));
}

}  // namespace
}  // namespace profd::app
