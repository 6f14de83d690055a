#include "daemon/source/sessions/epochs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "tests/support/manual_clock.h"

namespace profd::source {
namespace {

TEST(Epochs, LieAheadAndAreNumbered) {
  profd_control control{};
  test::ManualClock clock;
  clock.Set(5'000'000, 0);
  Epochs epochs(control, clock);
  const Epoch first = epochs.Announce();
  EXPECT_EQ(first.number, 1u);
  EXPECT_EQ(first.time_ns, 5'000'000 + Epochs::kAheadNs);
  EXPECT_EQ(control.epoch, 1u);
  EXPECT_EQ(control.epoch_ns, first.time_ns);
  clock.Set(9'000'000, 0);
  EXPECT_EQ(epochs.Announce().number, 2u);
  EXPECT_EQ(control.epoch_ns, 9'000'000 + Epochs::kAheadNs);
}

// Every reading takes as long as the one who reads is put aside.
class StallingClock : public Clock {
 public:
  explicit StallingClock(std::vector<std::uint64_t> stalls_ns) : stalls_ns_(std::move(stalls_ns)) {}
  [[nodiscard]] std::uint64_t MonotonicNs() const override {
    if (readings_ < stalls_ns_.size()) now_ns_ += stalls_ns_[readings_++];
    return now_ns_;
  }
  [[nodiscard]] std::uint64_t RealtimeNs() const override { return 0; }

 private:
  const std::vector<std::uint64_t> stalls_ns_;
  mutable std::size_t readings_ = 0;
  mutable std::uint64_t now_ns_ = 1'000'000'000;
};

TEST(Epochs, WhatIsAnnouncedTooLateIsAnnouncedAgain) {
  profd_control control{};
  const StallingClock clock({0, 30'000'000, 10, Epochs::kAheadNs, 20, 30});
  const Epoch epoch = Epochs(control, clock).Announce();
  EXPECT_EQ(epoch.number, 3u);
  EXPECT_EQ(control.epoch, 3u);
  EXPECT_EQ(control.epoch_ns, epoch.time_ns);
  EXPECT_LE(clock.MonotonicNs() + Epochs::kLeastAheadNs, epoch.time_ns);
}

TEST(Epochs, SleepPastReturnsWhenTheEpochIsOver) {
  const SystemClock clock;
  profd_control control{};
  const Epoch epoch = Epochs(control, clock).Announce();
  SleepPast(epoch);
  EXPECT_GT(clock.MonotonicNs(), epoch.time_ns);
}

}  // namespace
}  // namespace profd::source
