#include "daemon/source/epochs.h"

#include <gtest/gtest.h>

namespace profd::source {
namespace {

TEST(Epochs, LieAheadAndAreNumbered) {
  profd_control control{};
  ManualClock clock;
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

TEST(Epochs, SleepPastReturnsWhenTheEpochIsOver) {
  const SystemClock clock;
  profd_control control{};
  const Epoch epoch = Epochs(control, clock).Announce();
  SleepPast(epoch);
  EXPECT_GT(clock.MonotonicNs(), epoch.time_ns);
}

}  // namespace
}  // namespace profd::source
