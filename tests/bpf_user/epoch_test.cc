// Epochs: clocks as of an instant, whenever they are read and whatever the thread does meanwhile.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "tests/bpf_user/kernel_model.h"

namespace profd {
namespace {

constexpr std::uint64_t kEpochNs = 10'000;

void Announce(std::uint64_t number, std::uint64_t time_ns) {
  user_control()->epoch_ns = time_ns;
  user_control()->epoch = number;
}

class EpochTest : public testing::Test {
 protected:
  void SetUp() override { user_reset(); }
};

TEST_F(EpochTest, RunningThread) {
  KernelModel thread(1'000);
  Announce(1, kEpochNs);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.epoch, 1);
  EXPECT_EQ(reading.state, PROFD_STATE_ON_CPU);
  EXPECT_EQ(reading.since_ns, 1'000);
  EXPECT_EQ(reading.at_epoch.on_cpu_ns, 9'000);
  EXPECT_EQ(Sum(reading.at_epoch), 9'000);
  EXPECT_EQ(thread.clock().on_cpu_ns, 0);  // reading changes nothing
}

TEST_F(EpochTest, BlockedThread) {
  KernelModel thread(1'000);
  thread.Block(3'000, PROFD_IOWAIT);
  Announce(1, kEpochNs);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.state, PROFD_STATE_BLOCKED);
  EXPECT_EQ(reading.since_ns, 3'000);
  EXPECT_EQ(reading.at_epoch.on_cpu_ns, 2'000);
  EXPECT_EQ(reading.at_epoch.blocked_ns[PROFD_IOWAIT], 7'000);
}

TEST_F(EpochTest, WokenThreadThatStillWaitsForACpu) {
  KernelModel thread(1'000);
  thread.Block(3'000);
  thread.Wake(8'000);
  Announce(1, kEpochNs);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.state, PROFD_STATE_RUNNABLE);
  EXPECT_EQ(reading.at_epoch.blocked_ns[PROFD_INTERRUPTIBLE], 5'000);
  EXPECT_EQ(reading.at_epoch.runnable_ns[PROFD_AFTER_WAKEUP], 2'000);
}

TEST_F(EpochTest, ThreadWokenAfterTheEpochWasBlockedAtIt) {
  KernelModel thread(1'000);
  thread.Block(3'000);
  Announce(1, kEpochNs);
  thread.Wake(11'000);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.state, PROFD_STATE_BLOCKED);
  EXPECT_EQ(reading.at_epoch.blocked_ns[PROFD_INTERRUPTIBLE], 7'000);
  EXPECT_EQ(Runnable(reading.at_epoch), 0);
}

TEST_F(EpochTest, PreemptedThread) {
  KernelModel thread(1'000);
  thread.Preempt(3'000);
  Announce(1, kEpochNs);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.state, PROFD_STATE_RUNNABLE);
  EXPECT_EQ(reading.at_epoch.runnable_ns[PROFD_AFTER_PREEMPTION], 7'000);
  EXPECT_EQ(reading.at_epoch.runnable_count[PROFD_AFTER_PREEMPTION], 1);
}

TEST_F(EpochTest, ThreadInSwitchOutMode) {
  KernelModel thread(1'000);
  thread.Block(3'000);
  thread.Wake(5'000);
  thread.ComeNoted(5'500);
  Announce(1, kEpochNs);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.state, PROFD_STATE_ON_CPU);
  EXPECT_EQ(reading.at_epoch.blocked_ns[PROFD_INTERRUPTIBLE], 2'000);
  EXPECT_EQ(reading.at_epoch.runnable_ns[PROFD_AFTER_WAKEUP], 500);
  EXPECT_EQ(reading.at_epoch.on_cpu_ns, 2'000 + 4'500);
}

TEST_F(EpochTest, SwitchAtTheVeryInstant) {
  KernelModel thread(1'000);
  Announce(1, kEpochNs);
  thread.Block(kEpochNs);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.at_epoch.on_cpu_ns, 9'000);
  EXPECT_EQ(Sum(reading.at_epoch), 9'000);
  EXPECT_EQ(reading.at_epoch.blocked_count[PROFD_INTERRUPTIBLE], 0);
}

TEST_F(EpochTest, AnnouncedButNotReached) {
  KernelModel thread(1'000);
  Announce(1, kEpochNs);
  thread.Block(9'999);
  EXPECT_EQ(thread.Read(9'999).epoch, 0);
}

TEST_F(EpochTest, ThreadBornAfterItShowsThatItWasNotThere) {
  Announce(1, kEpochNs);
  KernelModel thread(kEpochNs + 5);
  thread.Block(20'000);
  const user_reading reading = thread.Read(30'000);
  EXPECT_EQ(reading.epoch, 1);
  EXPECT_EQ(Sum(reading.at_epoch), 0);
}

TEST_F(EpochTest, ThreadThatSleepsThroughSeveralKeepsTheLast) {
  KernelModel thread(1'000);
  thread.Block(2'000);
  Announce(1, 10'000);
  Announce(2, 20'000);
  thread.Wake(24'000);
  thread.Come(25'000);
  const user_reading reading = thread.Read(26'000);
  EXPECT_EQ(reading.epoch, 2);
  EXPECT_EQ(reading.at_epoch.blocked_ns[PROFD_INTERRUPTIBLE], 18'000);
}

// The kernel has dated the switch-out before the epoch, a reading in between did not know that.
TEST_F(EpochTest, NoIntervalEndsBeforeAnEpochThatWasRead) {
  KernelModel thread(0);
  thread.Block(1'000);
  thread.Wake(2'000);
  thread.Come(2'000);
  Announce(1, 9'900);
  const user_reading reading = thread.Read(9'950);
  thread.Preempt(10'000, PROFD_AFTER_PREEMPTION, 300);
  EXPECT_TRUE(NeverLess(reading.at_epoch, thread.clock()));
  EXPECT_EQ(thread.clock().on_cpu_ns, 1'000 + 8'000);
}

// What was stolen from an interval lies before and after the epoch in proportion.
TEST_F(EpochTest, StolenTimeOfAnIntervalIsSplitAtTheEpoch) {
  // Beyond 2^32 ns, the split is exact to 2^-16 s.
  constexpr std::uint64_t kRough = 1 << 16;
  for (const std::uint64_t length : {std::uint64_t{100'000}, std::uint64_t{40'000'000'000}}) {
    KernelModel thread(0);
    Announce(user_control()->epoch + 1, length / 4);
    thread.Steal(length / 2);
    const user_reading reading = thread.Read(length);
    const profd_clock& at_epoch = reading.at_epoch;
    EXPECT_EQ(Sum(at_epoch), length / 4);
    EXPECT_NEAR(static_cast<double>(at_epoch.stolen_ns[PROFD_STOLEN_EXACT]),
                static_cast<double>(length / 8), length > kRough * kRough ? kRough : 1);
    EXPECT_EQ(reading.now.stolen_ns[PROFD_STOLEN_EXACT], length / 2);
    EXPECT_TRUE(NeverLess(at_epoch, reading.now));
  }
}

// The kernel says of a CPU only at its next tick what was stolen from it.
TEST_F(EpochTest, WhatAReadingDidNotKnowOfIsStolenAfterIt) {
  KernelModel thread(0);
  Announce(1, 10'000);
  const user_reading reading = thread.Read(10'001);
  EXPECT_EQ(Stolen(reading.at_epoch), 0);
  thread.Steal(9'000);
  thread.Block(10'500);
  EXPECT_EQ(thread.clock().on_cpu_ns, 1'500);
  EXPECT_TRUE(NeverLess(reading.at_epoch, thread.clock()));
}

// One history, read at many moments after the epoch: before, between and after the switches that
// follow it. All readings must agree, and must be true.
TEST_F(EpochTest, TheMomentOfReadingDoesNotMatter) {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t range) { return random() % range; };
  for (int round = 0; round < 500; ++round) {
    user_reset();
    const std::uint64_t begin = 1'000'000;
    KernelModel thread(begin);
    const std::uint64_t epoch_ns = begin + 200'000 + below(1'000'000);
    profd_clock truth{};  // as of the epoch, from the same switches
    std::uint64_t now = begin;
    bool announced = false;
    const auto add = [&](__u64& part, std::uint64_t from, std::uint64_t to) {
      if (from < epoch_ns) part += std::min(to, epoch_ns) - from;
    };
    std::vector<user_reading> readings;
    const auto read = [&](std::uint64_t until) {
      if (now + 1 >= until) return;
      const std::uint64_t at = now + 1 + below(until - now - 1);
      if (at > epoch_ns && announced) readings.push_back(thread.Read(at));
    };
    const auto announce = [&] {
      if (!announced && now + 150'000 > epoch_ns) {
        Announce(1, epoch_ns);
        announced = true;
      }
    };
    for (int turn = 0; turn < 60; ++turn) {
      announce();
      const std::uint64_t out = now + 1 + below(50'000);
      read(out);
      add(truth.on_cpu_ns, now, out);
      now = out;
      const bool preempted = below(2) == 0;
      if (preempted)
        thread.Preempt(now);
      else
        thread.Block(now);
      const std::uint64_t woken = now + (preempted ? 0 : 1 + below(50'000));
      read(woken);
      if (!preempted) {
        add(truth.blocked_ns[PROFD_INTERRUPTIBLE], now, woken);
        thread.Wake(woken);
        now = woken;
      }
      const std::uint64_t in = now + 1 + below(20'000);
      read(in);
      add(truth.runnable_ns[preempted ? PROFD_AFTER_PREEMPTION : PROFD_AFTER_WAKEUP], now, in);
      now = in;
      thread.Come(now);
    }
    read(now + 1'000);
    ASSERT_FALSE(readings.empty());
    for (const user_reading& reading : readings) {
      ASSERT_EQ(reading.epoch, 1);
      ASSERT_EQ(Sum(reading.at_epoch), epoch_ns - begin);
      ASSERT_EQ(reading.at_epoch.on_cpu_ns, truth.on_cpu_ns) << "round " << round;
      ASSERT_EQ(Blocked(reading.at_epoch), Blocked(truth)) << "round " << round;
      ASSERT_EQ(Runnable(reading.at_epoch), Runnable(truth)) << "round " << round;
      ASSERT_EQ(reading.state, readings.front().state);
      ASSERT_EQ(reading.since_ns, readings.front().since_ns);
    }
  }
}

// Threads on their way out: how many of them the end of a session waits for.
using Thread = std::unique_ptr<user_thread, decltype(&user_thread_free)>;

Thread Begin() {
  const user_accounting accounting{};
  return {user_thread_begin(1'000, PROFD_STATE_ON_CPU, 0, &accounting), user_thread_free};
}

class ExitingTest : public testing::Test {
 protected:
  void SetUp() override { user_reset(); }
};

TEST_F(ExitingTest, AThreadCountsFromItsExitToItsEnd) {
  const Thread thread = Begin();
  user_end_exit(thread.get());  // it had begun to exit before it got its clock
  EXPECT_EQ(user_exiting(0), 0);
  user_begin_exit(thread.get());
  EXPECT_EQ(user_exiting(0), 1);
  user_end_exit(thread.get());
  EXPECT_EQ(user_exiting(0), 0);
}

TEST_F(ExitingTest, ItCountsOnceThoughAReadingFindsItBeforeItEnds) {
  const Thread thread = Begin();
  user_begin_exit(thread.get());
  user_end_exit(thread.get());
  user_end_exit(thread.get());
  EXPECT_EQ(user_exiting(0), 0);
}

TEST_F(ExitingTest, OneThatBeginsToExitLaterCountsElsewhere) {
  const Thread early = Begin();
  const Thread late = Begin();
  user_begin_exit(early.get());
  user_control()->exit_slot = 1;
  user_begin_exit(late.get());
  EXPECT_EQ(user_exiting(0), 1);
  EXPECT_EQ(user_exiting(1), 1);
  user_end_exit(early.get());
  EXPECT_EQ(user_exiting(0), 0);
  EXPECT_EQ(user_exiting(1), 1);
}

TEST_F(ExitingTest, AClockFromBeforeTheHooksWereAttachedDoesNotCount) {
  const Thread thread = Begin();
  user_control()->clock_generation++;
  user_begin_exit(thread.get());
  EXPECT_EQ(user_exiting(0), 0);
}

}  // namespace
}  // namespace profd
