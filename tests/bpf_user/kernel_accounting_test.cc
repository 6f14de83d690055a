// Threads whose switches are left to kernel accounting.
#include <gtest/gtest.h>

#include <random>

#include "tests/bpf_user/kernel_model.h"

namespace profd {
namespace {

void Announce(std::uint64_t number, std::uint64_t time_ns) {
  user_control()->epoch_ns = time_ns;
  user_control()->epoch = number;
}

// It has switched once: how long it has run is known from there on.
class KnownThread : public KernelModel {
 public:
  explicit KnownThread(std::uint64_t now) : KernelModel(now) {
    Block(now);
    Wake(now);
    Come(now);
  }
};

class KernelAccountingTest : public testing::Test {
 protected:
  void SetUp() override { user_reset(); }
};

TEST_F(KernelAccountingTest, AThreadThatSleepsIsExact) {
  KernelModel thread(1'000);
  thread.Block(3'000);
  thread.Wake(4'000);
  thread.ComeUnseen(4'500);
  thread.SwitchOutByKernelAccounting(7'000, PROFD_STATE_BLOCKED);
  Announce(1, 10'000);
  const user_reading reading = thread.Read(12'000);
  EXPECT_EQ(reading.epoch, 1);
  EXPECT_EQ(reading.state, PROFD_STATE_BLOCKED);
  EXPECT_EQ(reading.since_ns, 7'000);
  EXPECT_EQ(reading.at_epoch.on_cpu_ns, 2'000 + 2'500);
  EXPECT_EQ(Runnable(reading.at_epoch), 500);
  EXPECT_EQ(Blocked(reading.at_epoch), 1'000 + 3'000);
}

TEST_F(KernelAccountingTest, AThreadThatRunsHasRunUntilTheEpoch) {
  KnownThread thread(1'000);
  thread.SwitchOutByKernelAccounting(3'000, PROFD_STATE_BLOCKED);
  thread.Wake(5'000);
  thread.ComeUnseen(5'000);
  Announce(1, 10'000);
  const user_reading reading = thread.Read(10'001);
  EXPECT_EQ(reading.at_epoch.on_cpu_ns, 2'000 + 5'001)
      << "one of the ns after the epoch is accounted";
  EXPECT_EQ(Sum(reading.at_epoch), 9'000);
}

TEST_F(KernelAccountingTest, HooksGoOnWhereAWaitBegan) {
  KnownThread thread(1'000);
  thread.SwitchOutByKernelAccounting(3'000, PROFD_STATE_BLOCKED);
  thread.Wake(5'000);
  thread.ComeUnseen(5'500);
  thread.SwitchOutByKernelAccounting(6'000, PROFD_STATE_BLOCKED);
  thread.Wake(8'000);
  const user_interval interval = thread.Come(9'000);
  EXPECT_EQ(interval.begin_ns, 6'000);
  EXPECT_EQ(interval.end_ns, 9'000);
  EXPECT_EQ(interval.runnable_ns, 1'000);
  EXPECT_EQ(thread.clock().on_cpu_ns, 2'000 + 500);
  EXPECT_EQ(Runnable(thread.clock()), 500 + 1'000);
  EXPECT_EQ(Sum(thread.clock()), 8'000);
  thread.Block(9'500);
  EXPECT_EQ(thread.clock().on_cpu_ns, 2'000 + 500 + 500);
}

TEST_F(KernelAccountingTest, HooksGoOnWhereItRuns) {
  KnownThread thread(1'000);
  thread.SwitchOutByKernelAccounting(3'000, PROFD_STATE_RUNNABLE);
  thread.ComeUnseen(3'700);
  thread.Block(9'000);
  EXPECT_EQ(thread.clock().on_cpu_ns, 2'000 + 5'300);
  EXPECT_EQ(Runnable(thread.clock()), 700);
  EXPECT_EQ(Sum(thread.clock()), 8'000);
  EXPECT_EQ(thread.clock().blocked_count[PROFD_INTERRUPTIBLE], 1 + 1);
}

// Hooks and kernel accounting in turn, with epochs and readings in between: every reading adds up
// to the epoch, none takes back what an earlier one has reported, and where the thread sleeps it is
// the truth.
TEST_F(KernelAccountingTest, NoReadingTakesBackAnother) {
  std::mt19937_64 random(11);
  const auto below = [&](std::uint64_t range) { return random() % range; };
  int exact = 0;
  for (int round = 0; round < 300; ++round) {
    user_reset();
    const std::uint64_t begin = 1'000'000;
    KnownThread thread(begin);
    std::uint64_t now = begin;
    std::uint64_t epoch = 0;
    std::uint64_t epoch_ns = 0;
    profd_clock reported{};
    bool hooks = true;
    std::uint64_t left_ns = 0;
    const auto read = [&](std::uint64_t at) {
      if (epoch == 0 || at < epoch_ns) return;
      const user_reading reading = thread.Read(at);
      ASSERT_EQ(reading.epoch, epoch);
      ASSERT_EQ(Sum(reading.at_epoch), epoch_ns - begin);
      ASSERT_TRUE(NeverLess(reported, reading.at_epoch)) << "round " << round;
      reported = reading.at_epoch;
      if (left_ns != 0 && left_ns <= epoch_ns) {
        ++exact;
        ASSERT_EQ(reading.at_epoch.on_cpu_ns, thread.run_time());
      }
    };
    for (int turn = 0; turn < 80; ++turn) {
      if (below(5) == 0) hooks = !hooks;
      if (below(4) == 0 && now >= epoch_ns) Announce(++epoch, epoch_ns = now + 1 + below(60'000));
      const std::uint64_t out = now + 10 + below(50'000);
      read(now + below(out - now));
      now = out;
      const bool preempted = below(3) == 0;
      if (hooks)
        preempted ? thread.Preempt(now)
                  : thread.Block(now, below(2) == 0 ? PROFD_IOWAIT : PROFD_INTERRUPTIBLE);
      else
        thread.SwitchOutByKernelAccounting(now,
                                           preempted ? PROFD_STATE_RUNNABLE : PROFD_STATE_BLOCKED);
      left_ns = now;
      if (!preempted) {
        const std::uint64_t woken = now + 10 + below(50'000);
        read(now + below(woken - now));
        thread.Wake(now = woken);
      }
      const std::uint64_t in = now + 10 + below(20'000);
      read(now + below(in - now));
      now = in;
      if (below(5) == 0) hooks = !hooks;
      if (hooks)
        thread.Come(now);
      else
        thread.ComeUnseen(now);
      left_ns = 0;
    }
    read(now + 200'000);
  }
  EXPECT_GT(exact, 1'000);
}

}  // namespace
}  // namespace profd
