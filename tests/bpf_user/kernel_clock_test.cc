// The clock of a thread in snapshot mode: readings of the kernel's sums.
#include <gtest/gtest.h>

#include <random>

#include "tests/bpf_user/bpf_as_user.h"

namespace {

constexpr std::uint64_t kBegin = 1'000'000'000;
constexpr std::uint64_t kTick = 4'000'000;

std::uint64_t SumOf(const user_totals& totals) {
  return totals.on_cpu_ns + totals.runnable_ns + totals.blocked_ns +
         totals.stolen_ns[PROFD_STOLEN_EXACT] + totals.stolen_ns[PROFD_STOLEN_SPREAD];
}

TEST(KernelClockTest, AThreadThatHasSleptWasBlockedForTheRest) {
  user_totals totals{};
  const user_sums sums{
      .on_cpu_ns = 30, .runnable_ns = 10, .sleeps = 2, .state = PROFD_STATE_ON_CPU};
  const user_totals at_epoch = user_read_sums(&totals, kBegin, kBegin + 100, kBegin + 150, &sums);
  EXPECT_EQ(at_epoch.on_cpu_ns, 30u);
  EXPECT_EQ(at_epoch.runnable_ns, 10u);
  EXPECT_EQ(at_epoch.blocked_ns, 60u);
  EXPECT_EQ(totals.blocked_ns, 110u) << "also after the epoch";
}

TEST(KernelClockTest, OfASleeperStolenTimeIsSpreadByItsRunTime) {
  user_reset();
  user_control()->stolen_ratio = (1u << PROFD_STOLEN_SHIFT) / 4;
  user_totals totals{};
  const user_sums sums{
      .on_cpu_ns = 40'960, .runnable_ns = 10, .sleeps = 2, .state = PROFD_STATE_ON_CPU};
  user_read_sums(&totals, kBegin, kBegin, kBegin + 100'000, &sums);
  EXPECT_EQ(totals.on_cpu_ns, 40'960u);
  EXPECT_EQ(totals.stolen_ns[PROFD_STOLEN_SPREAD], 40'960u / 4);
  EXPECT_EQ(totals.stolen_ns[PROFD_STOLEN_EXACT], 0u);
  EXPECT_EQ(totals.blocked_ns, 100'000u - 40'960u - 10u - 40'960u / 4);
  user_reset();
}

TEST(KernelClockTest, NoMoreIsSpreadThanThereIs) {
  user_reset();
  user_control()->stolen_ratio = 1u << PROFD_STOLEN_SHIFT;
  user_totals totals{};
  const user_sums sums{
      .on_cpu_ns = 90'000, .runnable_ns = 0, .sleeps = 1, .state = PROFD_STATE_ON_CPU};
  user_read_sums(&totals, kBegin, kBegin, kBegin + 100'000, &sums);
  EXPECT_EQ(totals.stolen_ns[PROFD_STOLEN_SPREAD], 10'000u);
  EXPECT_EQ(totals.blocked_ns, 0u);
  user_reset();
}

TEST(KernelClockTest, AThreadThatSpinsWasNeverBlocked) {
  user_totals totals{};
  user_sums sums{.on_cpu_ns = 0, .runnable_ns = 0, .sleeps = 0, .state = PROFD_STATE_ON_CPU};
  for (std::uint64_t now = 10 * kTick; now <= 100 * kTick; now += 10 * kTick) {
    // The hypervisor takes a tenth, and the sum lacks up to a tick.
    sums.on_cpu_ns = now - now / 10 - kTick / 2;
    user_read_sums(&totals, kBegin, kBegin + now - kTick, kBegin + now, &sums);
    EXPECT_EQ(totals.blocked_ns, 0u);
    EXPECT_EQ(totals.on_cpu_ns, sums.on_cpu_ns);
    EXPECT_EQ(totals.stolen_ns[PROFD_STOLEN_EXACT], now / 10 + kTick / 2);
    EXPECT_EQ(SumOf(totals), now);
  }
}

TEST(KernelClockTest, AnEpochBeforeTheThreadBeganChangesNothing) {
  user_totals totals{};
  const user_sums sums{.on_cpu_ns = 30, .runnable_ns = 0, .sleeps = 1, .state = PROFD_STATE_ON_CPU};
  const user_totals at_epoch = user_read_sums(&totals, kBegin, kBegin - 500, kBegin + 100, &sums);
  EXPECT_EQ(SumOf(at_epoch), 0u);
  EXPECT_EQ(totals.on_cpu_ns, 30u);
  EXPECT_EQ(totals.blocked_ns, 70u) << "it slept in its first reading";
}

TEST(KernelClockTest, AThreadThatSleepsThroughAReadingIsBlockedAtBothEnds) {
  user_totals totals{};
  user_sums sums{.on_cpu_ns = 40, .runnable_ns = 0, .sleeps = 1, .state = PROFD_STATE_BLOCKED};
  user_read_sums(&totals, kBegin, kBegin, kBegin + 100, &sums);
  user_read_sums(&totals, kBegin, kBegin + 500, kBegin + 1'000, &sums);
  EXPECT_EQ(totals.on_cpu_ns, 40u);
  EXPECT_EQ(totals.blocked_ns, 960u) << "without a switch more";
}

// Sums as a kernel keeps them, read late and up to a tick too small: the parts add up at each epoch
// and at each reading, and no number ever goes down. At the end all is where it belongs.
TEST(KernelClockTest, PartsAddUpAndNeverGoDown) {
  std::mt19937_64 random(7);
  for (int life = 0; life < 200; ++life) {
    user_totals totals{};
    user_totals before{};
    user_sums truth{};
    std::uint64_t now = kBegin;
    std::uint64_t blocked_ns = 0;
    for (int reading = 0; reading < 50; ++reading) {
      const std::uint64_t epoch = now + random() % (20 * kTick);
      truth.state = static_cast<std::uint32_t>(random() % 3);
      for (int phase = 0; phase < 5; ++phase) {
        const std::uint64_t ns = random() % (5 * kTick);
        now += ns;
        const auto kind = random() % 3;
        if (kind == 0) truth.on_cpu_ns += ns;
        if (kind == 1) truth.runnable_ns += ns;
        if (kind == 2) blocked_ns += ns, ++truth.sleeps;
      }
      now = std::max(now, epoch);
      blocked_ns = now - kBegin - truth.on_cpu_ns - truth.runnable_ns;
      user_sums seen = truth;
      if (truth.state == PROFD_STATE_ON_CPU)
        seen.on_cpu_ns -= std::min<std::uint64_t>(seen.on_cpu_ns, random() % kTick);
      seen.sleeps = truth.sleeps += 1;
      const user_totals at_epoch = user_read_sums(&totals, kBegin, epoch, now, &seen);
      EXPECT_EQ(SumOf(totals), now - kBegin);
      EXPECT_LE(SumOf(at_epoch), SumOf(totals));
      for (const auto part :
           {&user_totals::on_cpu_ns, &user_totals::runnable_ns, &user_totals::blocked_ns}) {
        EXPECT_GE(at_epoch.*part, before.*part);
        EXPECT_GE(totals.*part, at_epoch.*part);
      }
      before = totals;
    }
    truth.state = PROFD_STATE_BLOCKED;
    user_read_sums(&totals, kBegin, now, now, &truth);
    // What a sum lacked at one reading was counted as blocked there, a tick at most.
    EXPECT_NEAR(static_cast<double>(totals.on_cpu_ns), static_cast<double>(truth.on_cpu_ns), kTick);
    EXPECT_NEAR(static_cast<double>(totals.runnable_ns), static_cast<double>(truth.runnable_ns),
                kTick);
  }
}

}  // namespace
