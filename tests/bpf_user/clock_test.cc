// The thread clock against tables of time stamps.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/bpf_user/kernel_model.h"

namespace profd {
namespace {

class ClockTest : public testing::Test {
 protected:
  void SetUp() override { user_reset(); }
};

TEST_F(ClockTest, RunsSleepsAndWaits) {
  KernelModel thread(1'000);
  thread.Block(1'100);
  thread.Wake(1'400);
  thread.Come(1'450);
  thread.Preempt(1'650);
  thread.Come(1'900);
  thread.Preempt(1'910, PROFD_AFTER_YIELD);
  thread.Come(1'950);
  thread.End(2'000);

  const profd_clock& clock = thread.clock();
  EXPECT_EQ(clock.on_cpu_ns, 100 + 200 + 10 + 50);
  EXPECT_EQ(clock.blocked_ns[PROFD_INTERRUPTIBLE], 300);
  EXPECT_EQ(clock.runnable_ns[PROFD_AFTER_WAKEUP], 50);
  EXPECT_EQ(clock.runnable_ns[PROFD_AFTER_PREEMPTION], 250);
  EXPECT_EQ(clock.runnable_ns[PROFD_AFTER_YIELD], 40);
  EXPECT_EQ(Sum(clock), 1'000);
  EXPECT_EQ(clock.on_cpu_count, 4);
  EXPECT_EQ(clock.blocked_count[PROFD_INTERRUPTIBLE], 1);
  EXPECT_EQ(clock.runnable_count[PROFD_AFTER_WAKEUP], 1);
  EXPECT_EQ(clock.runnable_count[PROFD_AFTER_PREEMPTION], 1);
  EXPECT_EQ(clock.runnable_count[PROFD_AFTER_YIELD], 1);
}

TEST_F(ClockTest, DistinguishesTheKindsOfBlocking) {
  KernelModel thread(0);
  std::uint64_t now = 0;
  for (const profd_blocked kind : {PROFD_INTERRUPTIBLE, PROFD_UNINTERRUPTIBLE, PROFD_IOWAIT}) {
    thread.Block(now += 10, kind);
    now += 100 * (kind + 1);
    thread.Wake(now);
    thread.Come(now);
  }
  EXPECT_EQ(thread.clock().blocked_ns[PROFD_INTERRUPTIBLE], 100);
  EXPECT_EQ(thread.clock().blocked_ns[PROFD_UNINTERRUPTIBLE], 200);
  EXPECT_EQ(thread.clock().blocked_ns[PROFD_IOWAIT], 300);
  for (const auto count : thread.clock().blocked_count) EXPECT_EQ(count, 1);
}

TEST_F(ClockTest, CountsMigrations) {
  KernelModel thread(0);
  for (const std::uint32_t cpu : {0U, 1U, 1U, 0U}) {
    thread.Preempt(thread.since() + 10);
    thread.OnCpu(cpu);
    thread.Come(thread.since() + 10);
  }
  EXPECT_EQ(thread.clock().migrations, 2);
}

// Two nodes with two cores of two CPUs each; the cores of a node share a cache.
void SetPlaces() {
  std::array<profd_cpu_place, 9> places{};
  for (std::uint32_t cpu = 0; cpu < 8; ++cpu)
    places[cpu] = {cpu / 2 * 2, cpu / 4 * 4, cpu / 4, cpu ^ 1U};
  places[8] = {PROFD_NOWHERE, PROFD_NOWHERE, PROFD_NOWHERE, PROFD_NOWHERE};
  user_set_places(places.data(), places.size());
}

void MoveTo(KernelModel& thread, std::uint32_t cpu) {
  thread.Preempt(thread.since() + 10);
  thread.OnCpu(cpu);
  thread.Come(thread.since() + 10);
}

TEST_F(ClockTest, CountsMigrationsByHowFarTheyLead) {
  SetPlaces();
  KernelModel thread(0);
  MoveTo(thread, 1);  // the same core
  MoveTo(thread, 1);
  MoveTo(thread, 2);  // another core
  user_control()->epoch_ns = thread.since();
  user_control()->epoch = 7;
  MoveTo(thread, 7);  // another node
  MoveTo(thread, 6);
  MoveTo(thread, 8);  // not known where
  const user_reading reading = thread.Read(thread.since() + 1);
  EXPECT_EQ(reading.now.migrations, 5);
  EXPECT_EQ(reading.moves.core, 2);
  EXPECT_EQ(reading.moves.cache, 1);
  EXPECT_EQ(reading.moves.node, 1);
  EXPECT_EQ(reading.at_epoch.migrations, 2);
  EXPECT_EQ(reading.moves_at_epoch.core, 1);
  EXPECT_EQ(reading.moves_at_epoch.node, 0);
}

TEST_F(ClockTest, WithoutPlacesNoDistancesAreCounted) {
  KernelModel thread(0);
  MoveTo(thread, 3);
  const user_reading reading = thread.Read(thread.since() + 1);
  EXPECT_EQ(reading.now.migrations, 1);
  EXPECT_EQ(reading.moves.core, 0);
}

TEST_F(ClockTest, WhereANewThreadBeginsIsNoMigration) {
  SetPlaces();
  user_accounting accounting{};
  user_thread* thread = user_thread_begin_created(0, &accounting);
  user_switch_in(thread, 10, 5, &accounting);
  user_switch_out(thread, 20, PROFD_STATE_RUNNABLE, PROFD_AFTER_PREEMPTION, 5, &accounting);
  user_switch_in(thread, 30, 5, &accounting);
  EXPECT_EQ(user_clock(thread)->migrations, 0);
  user_switch_out(thread, 40, PROFD_STATE_RUNNABLE, PROFD_AFTER_PREEMPTION, 5, &accounting);
  user_switch_in(thread, 50, 4, &accounting);
  EXPECT_EQ(user_clock(thread)->migrations, 1);
  user_thread_free(thread);
}

TEST_F(ClockTest, WakeUpHooksSplitWithoutKernelAccounting) {
  user_constants()->split = PROFD_SPLIT_WAKEUP;
  const user_accounting none{};
  user_thread* thread = user_thread_begin(0, PROFD_STATE_ON_CPU, 0, &none);
  user_wake(thread, 40);  // awake already
  user_switch_out(thread, 50, PROFD_STATE_BLOCKED, PROFD_IOWAIT, 0, &none);
  user_wake(thread, 150);
  user_wake(thread, 160);  // only the first counts
  EXPECT_EQ(user_switch_in(thread, 170, 0, &none).runnable_ns, 20);
  EXPECT_EQ(user_clock(thread)->on_cpu_ns, 50);
  EXPECT_EQ(user_clock(thread)->blocked_ns[PROFD_IOWAIT], 100);
  EXPECT_EQ(user_clock(thread)->runnable_ns[PROFD_AFTER_WAKEUP], 20);
  user_thread_free(thread);
}

TEST_F(ClockTest, AWakeUpThatWasNotSeenLeavesAllOfItBlocked) {
  user_constants()->split = PROFD_SPLIT_WAKEUP;
  const user_accounting none{};
  user_thread* thread = user_thread_begin(0, PROFD_STATE_ON_CPU, 0, &none);
  user_switch_out(thread, 50, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, 0, &none);
  EXPECT_EQ(user_switch_in(thread, 170, 0, &none).runnable_ns, 0);
  EXPECT_EQ(user_clock(thread)->blocked_ns[PROFD_INTERRUPTIBLE], 120);
  user_thread_free(thread);
}

TEST_F(ClockTest, NewThreadWaitsForACpuFromWhenItIsQueued) {
  const user_accounting none{};
  user_thread* thread = user_thread_begin_created(100, &none);
  const user_accounting arrived{30, 0, 0};
  const user_interval wait = user_switch_in(thread, 150, 0, &arrived);
  EXPECT_EQ(wait.runnable_ns, 30);
  EXPECT_EQ(user_clock(thread)->runnable_ns[PROFD_AFTER_WAKEUP], 30);
  EXPECT_EQ(user_clock(thread)->runnable_count[PROFD_AFTER_WAKEUP], 1);
  EXPECT_EQ(user_clock(thread)->blocked_ns[PROFD_UNINTERRUPTIBLE], 20);
  EXPECT_EQ(user_clock(thread)->blocked_count[PROFD_UNINTERRUPTIBLE], 0);
  user_thread_free(thread);
}

TEST_F(ClockTest, MissedSwitchInIsMadeGoodFromTheKernelsRunTime) {
  KernelModel thread(0);
  thread.Block(100);
  thread.Wake(300);
  thread.ComeUnseen(350);
  thread.Block(500);
  EXPECT_EQ(thread.clock().on_cpu_ns, 100 + 150);
  EXPECT_EQ(thread.clock().blocked_ns[PROFD_INTERRUPTIBLE], 200);
  EXPECT_EQ(thread.clock().runnable_ns[PROFD_AFTER_WAKEUP], 50);
  EXPECT_EQ(Sum(thread.clock()), 500);
  EXPECT_EQ(user_counter(PROFD_COUNTER_SWITCH_IN_MISSED), 1);
}

// Between the switch hook and the moment from which the kernel says that it runs.
TEST_F(ClockTest, AClockThatIsMadeDuringASwitchInHasMissedNone) {
  const user_accounting start{0, 1'000, 0};
  user_thread* thread = user_thread_begin(100, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, &start);
  const user_accounting ran{0, 1'000 + 50, 0};
  user_switch_out(thread, 150, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, 0, &ran);
  EXPECT_EQ(user_clock(thread)->on_cpu_ns, 50);
  EXPECT_EQ(Sum(*user_clock(thread)), 50);
  EXPECT_EQ(user_counter(PROFD_COUNTER_SWITCH_IN_MISSED), 0);
  // The next one is.
  const user_accounting again{0, 1'000 + 80, 0};
  user_switch_out(thread, 250, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, 0, &again);
  EXPECT_EQ(user_clock(thread)->on_cpu_ns, 80);
  EXPECT_EQ(user_counter(PROFD_COUNTER_SWITCH_IN_MISSED), 1);
  user_thread_free(thread);
}

TEST_F(ClockTest, MissedSwitchOutIsMadeGoodFromTheKernelsRunTime) {
  KernelModel thread(0);
  thread.Block(100);
  thread.Wake(200);
  thread.Come(200);
  thread.BlockUnseen(260);
  thread.Wake(400);
  thread.Come(420);
  EXPECT_EQ(thread.clock().on_cpu_ns, 100 + 60);
  EXPECT_EQ(thread.clock().blocked_ns[PROFD_INTERRUPTIBLE], 100 + 140);
  EXPECT_EQ(thread.clock().runnable_ns[PROFD_AFTER_WAKEUP], 20);
  EXPECT_EQ(user_counter(PROFD_COUNTER_SWITCH_OUT_MISSED), 1);
}

TEST_F(ClockTest, ASwitchInThatIsOnlyNotedIsSplitAtTheNextSwitchOut) {
  KernelModel thread(0);
  thread.Block(100);
  thread.Wake(300);
  thread.ComeNoted(350);
  EXPECT_EQ(Sum(thread.clock()), 100);
  thread.Block(500);
  EXPECT_EQ(thread.clock().on_cpu_ns, 100 + 150);
  EXPECT_EQ(thread.clock().blocked_ns[PROFD_INTERRUPTIBLE], 200);
  EXPECT_EQ(thread.clock().runnable_ns[PROFD_AFTER_WAKEUP], 50);
  EXPECT_EQ(user_counter(PROFD_COUNTER_SWITCH_IN_MISSED), 0);
}

// A sleeper's wake-up takes the CPU: the kernel dates its arrival 1,500 ns before the hook runs.
TEST_F(ClockTest, OnCpuFollowsTheKernelWhereTheHookLagsBehind) {
  KernelModel thread(0);
  std::uint64_t now = 0;
  for (int turn = 0; turn < 10'000; ++turn) {
    thread.Block(now += 3'000);
    now += 50'000;
    thread.Wake(now - 1'500);
    thread.Come(now, 1'500);
  }
  thread.Block(now += 3'000);
  EXPECT_EQ(thread.clock().on_cpu_ns, thread.run_time());
  EXPECT_EQ(Runnable(thread.clock()), thread.run_delay());
  EXPECT_EQ(Sum(thread.clock()), now + 1'500);  // the last interval ends by its lag later
}

TEST_F(ClockTest, WaitOfThePreemptedFollowsTheKernelToo) {
  KernelModel thread(0);
  std::uint64_t now = 0;
  for (int turn = 0; turn < 10'000; ++turn) {
    thread.Preempt(now += 40'000, PROFD_AFTER_PREEMPTION, 1'500);
    thread.Come(now += 5'000, 300);
  }
  thread.Block(now += 40'000);
  EXPECT_EQ(Runnable(thread.clock()), thread.run_delay());
  // One lag is outstanding, however many there were.
  EXPECT_GE(thread.clock().on_cpu_ns, thread.run_time());
  EXPECT_LE(thread.clock().on_cpu_ns, thread.run_time() + 1'500);
  EXPECT_EQ(Sum(thread.clock()), thread.since());
}

// A hypervisor took the CPU away: kernel accounting has less than the hooks saw.
TEST_F(ClockTest, StolenTimeIsAPartOfItsOwn) {
  KernelModel thread(0);
  thread.Block(1'000);
  thread.Wake(2'000);
  thread.Come(2'000);
  thread.Steal(60'000);
  thread.Block(102'000);
  EXPECT_EQ(thread.clock().on_cpu_ns, 1'000 + 40'000);
  EXPECT_EQ(thread.clock().stolen_ns[PROFD_STOLEN_EXACT], 60'000);
  EXPECT_EQ(Sum(thread.clock()), 102'000);
}

// The hook of the switch-out lags behind by more than that of the switch-in.
TEST_F(ClockTest, OnCpuIsNoLongerThanTheKernelSays) {
  KernelModel thread(0);
  std::uint64_t now = 0;
  thread.Block(now += 3'000);
  const std::uint64_t first_ns = thread.clock().on_cpu_ns;
  const std::uint64_t first_run_ns = thread.run_time();
  for (int turn = 0; turn < 10'000; ++turn) {
    thread.Wake(now += 50'000);
    thread.Come(now += 1'000);
    thread.Preempt(now += 3'000, PROFD_AFTER_PREEMPTION, 400);
    thread.Come(now += 1'000);
    thread.Block(now += 3'000);
  }
  EXPECT_EQ(thread.clock().on_cpu_ns - first_ns, thread.run_time() - first_run_ns);
}

TEST_F(ClockTest, StolenInTheFirstIntervalOfAThreadCountsToo) {
  const user_accounting start{.run_delay = 0, .sum_exec = 0, .stolen = 900};
  user_thread* thread = user_thread_begin_created(0, &start);
  user_note_switch_in(thread, 500, 7'000);
  const user_accounting ran{.run_delay = 0, .sum_exec = 1'000, .stolen = 7'000 + 250};
  user_switch_out(thread, 500 + 1'250, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, 0, &ran);
  EXPECT_EQ(user_clock(thread)->on_cpu_ns, 1'000);
  EXPECT_EQ(user_clock(thread)->stolen_ns[PROFD_STOLEN_EXACT], 250);
  user_thread_free(thread);
}

TEST_F(ClockTest, NoMoreIsStolenThanTheThreadWasOnTheCpu) {
  KernelModel thread(0);
  const user_accounting all{.run_delay = 0, .sum_exec = 0, .stolen = 1'000'000'000};
  user_switch_out(thread.thread(), 500, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, 0, &all);
  EXPECT_EQ(thread.clock().on_cpu_ns, 0);
  EXPECT_EQ(thread.clock().stolen_ns[PROFD_STOLEN_EXACT], 500);
}

// Thousands of switches on several CPUs, dated with lags of either sign, some with stolen time: it
// is exact, and 0 where nothing was stolen. The lags do not add up to anything, either.
TEST_F(ClockTest, LagsAreNotTakenForStolenTime) {
  constexpr std::uint64_t kMostLag = 1'500;
  std::mt19937_64 random(11);
  for (const bool steals : {false, true}) {
    KernelModel thread(0);
    std::uint64_t now = 0;
    for (int turn = 0; turn < 10'000; ++turn) {
      if (steals && random() % 4 == 0) thread.Steal(random() % 20'000);
      thread.Preempt(now += 40'000, PROFD_AFTER_PREEMPTION, random() % kMostLag);
      thread.OnCpu(static_cast<std::uint32_t>(random() % 4));
      thread.Come(now += 5'000, random() % kMostLag);
    }
    thread.Block(now += 40'000);
    EXPECT_EQ(thread.clock().stolen_ns[PROFD_STOLEN_EXACT], thread.stolen());
    EXPECT_EQ(thread.stolen() != 0, steals);
    EXPECT_GE(thread.clock().on_cpu_ns, thread.run_time());
    EXPECT_LE(thread.clock().on_cpu_ns, thread.run_time() + kMostLag);
    EXPECT_EQ(Sum(thread.clock()), thread.since());
  }
}

TEST_F(ClockTest, AJumpOfKernelAccountingIsNoLag) {
  KernelModel thread(0);
  thread.Preempt(1'000);
  thread.Come(2'000);
  const user_accounting second{1'000, 1'000'000'000, 0};
  user_switch_out(thread.thread(), 3'000, PROFD_STATE_RUNNABLE, PROFD_AFTER_PREEMPTION, 0, &second);
  EXPECT_EQ(thread.clock().on_cpu_ns, 2'000);
  const user_accounting minute{60'000'000'000, 1'000'000'000, 0};
  const user_interval wait = user_switch_in(thread.thread(), 4'000, 0, &minute);
  EXPECT_EQ(wait.end_ns, 4'000);
  EXPECT_EQ(wait.runnable_ns, 1'000);
}

// Preempted with a state already set, a thread is not queued: kernel accounting has no wait.
TEST_F(ClockTest, PreemptedWhileGoingToSleepIsRunnableAllTheSame) {
  const user_accounting none{};
  user_thread* thread = user_thread_begin(0, PROFD_STATE_ON_CPU, 0, &none);
  user_switch_out(thread, 100, PROFD_STATE_RUNNABLE, PROFD_AFTER_PREEMPTION, 0, &none);
  EXPECT_EQ(user_switch_in(thread, 300, 0, &none).runnable_ns, 200);
  user_thread_free(thread);
}

TEST_F(ClockTest, ASleepThatTheHookSawTooLateWaitsAsLongAsTheKernelSays) {
  KernelModel thread(0);
  thread.Block(1'000);
  const user_accounting second{800, 1'000, 0};
  const user_interval wait = user_switch_in(thread.thread(), 1'500, 0, &second);
  EXPECT_EQ(wait.runnable_ns, 800);
  EXPECT_EQ(wait.end_ns, 1'800);
}

TEST_F(ClockTest, AHookThatLagsBehindTheSwitchInDoesNotMakeTheWaitLonger) {
  KernelModel thread(0);
  thread.Preempt(1'000);
  const user_accounting second{1'000, 1'000, 0};
  const user_interval wait = user_switch_in(thread.thread(), 9'000, 0, &second);
  EXPECT_EQ(wait.runnable_ns, 1'000);
  EXPECT_EQ(wait.end_ns, 2'000);
  const user_accounting third{1'000, 1'000 + 7'500, 0};
  user_switch_out(thread.thread(), 9'500, PROFD_STATE_BLOCKED, PROFD_INTERRUPTIBLE, 0, &third);
  EXPECT_EQ(thread.clock().on_cpu_ns, 1'000 + 7'500);
}

TEST(QueueOffsetTest, KeepsTheLeastDistance) {
  user_offset offset{};
  user_learn_offset(&offset, 10'000, 10'000 - 700);
  EXPECT_EQ(offset.ns, 700);
  user_learn_offset(&offset, 11'000, 11'000 - 500);
  EXPECT_EQ(offset.ns, 500);
  user_learn_offset(&offset, 11'100, 11'100 - 2'000);  // lags behind
  EXPECT_EQ(offset.ns, 500);
}

TEST(QueueOffsetTest, FollowsADriftAndAJump) {
  user_offset offset{};
  user_learn_offset(&offset, 1'000, 0);
  EXPECT_EQ(offset.ns, 1'000);
  user_learn_offset(&offset, 1'000 + 4'096'000, 4'096'000 - 100'000);
  EXPECT_EQ(offset.ns, 2'000);  // 1/4096 of what has passed
  user_learn_offset(&offset, 5'000'000, 5'000'000 - 7'000'000);
  EXPECT_EQ(offset.ns, 7'000'000);
}

// The run-queue clock may be ahead of CLOCK_MONOTONIC too.
TEST(QueueOffsetTest, WorksInEitherDirection) {
  user_offset offset{};
  user_learn_offset(&offset, 1'000, 5'000);
  user_reset();
  user_control()->epoch_ns = 2'000;
  EXPECT_EQ(user_queued_since(&offset, 2'000, 5'500), 1'500);
}

TEST(QueueOffsetTest, ReadingLeavesRoomForErrors) {
  user_offset offset{100, 1};
  user_reset();
  user_control()->epoch_ns = 1'000'000;
  EXPECT_EQ(user_queued_since(&offset, 1'010'000, 900'000), 900'100 - 5'000);
  EXPECT_EQ(user_queued_since(&offset, 9'000'000, 900'000), 900'100 - 20'000);
  EXPECT_EQ(user_queued_since(&offset, 1'010'000, 0), 0);  // does not wait
  const user_offset unknown{};
  EXPECT_EQ(user_queued_since(&unknown, 1'010'000, 900'000), 0);
}

TEST_F(ClockTest, ATimeBeforeTheLastOneIsCountedAndChangesNothing) {
  KernelModel thread(5'000'000);
  thread.Block(6'000'000);
  const user_accounting none{};
  user_switch_in(thread.thread(), 1'000'000, 0, &none);
  EXPECT_EQ(Sum(thread.clock()), 1'000'000);
  EXPECT_EQ(user_counter(PROFD_COUNTER_CLOCK_WENT_BACK), 1);
}

// Any interleaving: the parts add up to what has passed, nothing goes down, the sequence number is
// even whenever no hook runs, and the kernel accounting agrees.
TEST_F(ClockTest, PartsAddUpAfterAnyHistory) {
  std::mt19937_64 random(20251121);
  const auto below = [&](std::uint64_t range) { return random() % range; };
  for (int round = 0; round < 200; ++round) {
    user_reset();
    const std::uint64_t begin = 1'000'000 + below(1'000'000);
    KernelModel thread(begin);
    std::uint64_t now = begin;
    profd_clock last{};
    for (int turn = 0; turn < 200; ++turn) {
      now += 2'000 + below(100'000);
      const bool preempted = below(3) == 0;
      const std::uint64_t lag = below(2'000);
      if (preempted)
        thread.Preempt(now, below(4) == 0 ? PROFD_AFTER_YIELD : PROFD_AFTER_PREEMPTION, lag);
      else
        thread.Block(now, static_cast<profd_blocked>(below(3)));
      now += 3'000 + below(100'000);
      if (!preempted) thread.Wake(now - 2'000 - below(1'000));
      switch (below(10)) {
        case 0:
          thread.ComeUnseen(now);
          break;
        case 1:
          thread.ComeNoted(now);
          break;
        default:
          thread.Come(now, below(2'000));
          ASSERT_EQ(Sum(thread.clock()), thread.since() - begin);
      }
      ASSERT_EQ(thread.sequence() % 2, 0);
      ASSERT_TRUE(NeverLess(last, thread.clock()));
      last = thread.clock();
    }
    thread.End(now += 10'000);
    EXPECT_EQ(Sum(thread.clock()), thread.since() - begin);
    EXPECT_LE(thread.since() - now, 2'000);
    EXPECT_EQ(user_counter(PROFD_COUNTER_CLOCK_WENT_BACK), 0);
  }
}

}  // namespace
}  // namespace profd
