#include "daemon/aggregate/waits/wait_log.h"

#include <gtest/gtest.h>

#include "bpf/shared/limits.h"
#include "bpf/shared/points.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSession = 1;
constexpr ProcessKey kProcess{10, 1};
constexpr ThreadKey kWaiter{11, 1};
constexpr ThreadKey kWorker{12, 1};

process::Sample Wait(const ThreadKey& thread, std::uint32_t number, std::uint64_t begin_ms,
                     std::uint64_t end_ms, std::uint64_t runnable_ms = 0) {
  process::Sample sample;
  sample.thread = thread;
  sample.process = kProcess;
  sample.state = process::State::kBlocked;
  sample.number = number;
  sample.begin_ns = begin_ms * kMs;
  sample.time_ns = end_ms * kMs;
  sample.runnable_ns = runnable_ms * kMs;
  return sample;
}

process::Sample WakeUp(std::uint64_t time_ns, std::uint64_t begin_ns) {
  process::Sample sample;
  sample.thread = kWorker;
  sample.process = kProcess;
  sample.time_ns = time_ns;
  sample.wake_up = wire::WakeUp{.wakee = kWaiter, .begin_ns = begin_ns, .comm = "worker"};
  return sample;
}

class WaitLogTest : public testing::Test {
 protected:
  [[nodiscard]] StateAt StateOf(const ThreadKey& thread, std::uint64_t ms) const {
    return log_.StateOf(*log_.Find(thread), ms * kMs, ms * kMs + 1).state;
  }
  [[nodiscard]] const LoggedWait& WaitAt(std::uint64_t begin_ms) const {
    return *log_.FindWait(*log_.Find(kWaiter), begin_ms * kMs);
  }

  WaitLog log_{1000};
};

TEST_F(WaitLogTest, SaysWhatAMemberDoes) {
  log_.OnClock(kWorker, kProcess, {.time_ns = 10 * kMs, .number = 0});
  log_.AddWait(Wait(kWorker, 1, 20, 40, 5), 1);
  EXPECT_EQ(StateOf(kWorker, 5), StateAt::kNotFollowed);
  EXPECT_EQ(StateOf(kWorker, 15), StateAt::kRuns);
  EXPECT_EQ(StateOf(kWorker, 20), StateAt::kBlocked);
  EXPECT_EQ(StateOf(kWorker, 34), StateAt::kBlocked);
  EXPECT_EQ(StateOf(kWorker, 36), StateAt::kRunnable);
  EXPECT_EQ(StateOf(kWorker, 40), StateAt::kRuns);
}

TEST_F(WaitLogTest, WhereANumberIsMissingNothingIsKnown) {
  log_.OnClock(kWorker, kProcess, {.time_ns = 0, .number = 0});
  log_.AddWait(Wait(kWorker, 1, 10, 20), 1);
  log_.AddWait(Wait(kWorker, 3, 50, 60), 1);
  EXPECT_EQ(StateOf(kWorker, 5), StateAt::kRuns);
  EXPECT_EQ(StateOf(kWorker, 30), StateAt::kLost);
  EXPECT_EQ(StateOf(kWorker, 55), StateAt::kBlocked);
  EXPECT_EQ(StateOf(kWorker, 70), StateAt::kRuns);
}

TEST_F(WaitLogTest, ALaterClockShowsThatTheLastSamplesAreLost) {
  log_.OnClock(kWorker, kProcess, {.time_ns = 0, .number = 0});
  log_.AddWait(Wait(kWorker, 1, 10, 20), 1);
  log_.OnClock(kWorker, kProcess, {.time_ns = 100 * kMs, .number = 2});
  EXPECT_EQ(StateOf(kWorker, 30), StateAt::kLost);
  // The clock was read after its time: the sample comes later.
  log_.AddWait(Wait(kWorker, 2, 99, 101), 1);
  EXPECT_EQ(StateOf(kWorker, 30), StateAt::kRuns);
}

TEST_F(WaitLogTest, APointOfPeriodsThatBecomeFinerIsNoneOfIntervalsThatEndedBefore) {
  constexpr std::uint64_t kSeed = 7;
  constexpr std::uint32_t kCoarse = 23;
  constexpr std::uint32_t kFine = 20;
  constexpr std::uint64_t kPeriod = 5;
  log_.OnClock(kWorker, kProcess, {.time_ns = 0, .number = 0});
  log_.SetLevel(0, kSeed, kCoarse);
  const std::uint64_t change_ns = (kPeriod + 1) << kCoarse;
  log_.SetLevel(change_ns, kSeed, kFine);
  const std::uint64_t end_ns = change_ns + kMs;
  const std::uint64_t coarse_ns = profd_point(kSeed, kCoarse, kPeriod);
  std::size_t fine = 0;
  for (std::uint64_t period = kPeriod << (kCoarse - kFine);
       period < (kPeriod + 1) << (kCoarse - kFine); ++period) {
    const std::uint64_t point_ns = profd_point(kSeed, kFine, period);
    if (point_ns == coarse_ns) continue;
    ++fine;
    EXPECT_EQ(log_.StateOf(*log_.Find(kWorker), point_ns, end_ns).state, StateAt::kLost);
  }
  EXPECT_EQ(fine, (1u << (kCoarse - kFine)) - 1);
  EXPECT_EQ(log_.StateOf(*log_.Find(kWorker), coarse_ns, end_ns).state, StateAt::kRuns);
  const std::uint64_t later_ns = profd_point(kSeed, kFine, (change_ns >> kFine) + 1);
  EXPECT_EQ(log_.StateOf(*log_.Find(kWorker), later_ns, later_ns + kMs).state, StateAt::kRuns);
  EXPECT_EQ(log_.CoarsestLevel(change_ns - 1, end_ns), kCoarse);
  EXPECT_EQ(log_.CoarsestLevel(change_ns, end_ns), kFine);
}

TEST_F(WaitLogTest, WhoEndsAWaitIsFollowedForAWhile) {
  log_.AddWaker(WakeUp(50 * kMs, 40 * kMs), 7, kSession);
  EXPECT_EQ(StateOf(kWorker, 49), StateAt::kNotFollowed);
  EXPECT_EQ(StateOf(kWorker, 51), StateAt::kRuns);
  EXPECT_EQ(StateOf(kWorker, 50 + PROFD_FOLLOWED_NS / kMs), StateAt::kNotFollowed);
  log_.AddWaker(WakeUp(9'000 * kMs, 8'000 * kMs), 7, kSession);
  EXPECT_EQ(StateOf(kWorker, 8'999 + PROFD_FOLLOWED_NS / kMs), StateAt::kRuns);
  EXPECT_EQ(log_.threads()[*log_.Find(kWorker)].comm, "worker");
}

TEST_F(WaitLogTest, AWakeUpBelongsToTheWaitThatItEnds) {
  log_.AddWaker(WakeUp(20 * kMs, 10 * kMs), 7, kSession);
  log_.AddWait(Wait(kWaiter, 1, 10, 21, 1), 3);
  log_.AddWait(Wait(kWaiter, 2, 30, 40), 3);
  ASSERT_NE(WaitAt(10).waker, kNoWaker);
  EXPECT_EQ(log_.WakerAt(WaitAt(10).waker).node, 7u);
  EXPECT_EQ(WaitAt(30).waker, kNoWaker);
}

TEST_F(WaitLogTest, AWakeUpOnTheWayToSleepIsKept) {
  log_.AddWaker(WakeUp(10 * kMs - 2'000, 0), 7, kSession);
  log_.AddWait(Wait(kWaiter, 1, 10, 21, 11), 3);
  EXPECT_NE(WaitAt(10).waker, kNoWaker);
}

TEST_F(WaitLogTest, OneOfASleepThatDidNotComeIsNot) {
  log_.AddWaker(WakeUp(9 * kMs, 0), 7, kSession);
  log_.AddWait(Wait(kWaiter, 1, 10, 21, 1), 3);
  EXPECT_EQ(WaitAt(10).waker, kNoWaker);
}

TEST_F(WaitLogTest, AThreadThatTheUserMayNotSeeHasNoNameAndNoStack) {
  process::Sample sample = WakeUp(20 * kMs, 10 * kMs);
  sample.wake_up->foreign_sessions = kSession;
  log_.AddWaker(sample, 7, kSession);
  log_.AddWait(Wait(kWaiter, 1, 10, 21), 3);
  const Waker& waker = log_.WakerAt(WaitAt(10).waker);
  EXPECT_EQ(waker.kind, Waker::Kind::kForeign);
  EXPECT_EQ(waker.node, 0u);
  EXPECT_FALSE(log_.Find(kWorker));
}

TEST_F(WaitLogTest, WhatExceedsItsRoomIsLost) {
  WaitLog log(1);
  log.OnClock(kWorker, kProcess, {.time_ns = 0, .number = 0});
  log.AddWait(Wait(kWorker, 1, 10, 20), 1);
  log.AddWait(Wait(kWorker, 2, 30, 40), 1);
  EXPECT_EQ(log.StateOf(*log.Find(kWorker), 25 * kMs, 50 * kMs).state, StateAt::kRuns);
  EXPECT_EQ(log.StateOf(*log.Find(kWorker), 35 * kMs, 50 * kMs).state, StateAt::kLost);
  EXPECT_EQ(log.StateOf(*log.Find(kWorker), 45 * kMs, 50 * kMs).state, StateAt::kLost);
}

// The log of the window before has a wait of the worker that has not ended.
class NextWaitLog : public WaitLogTest {
 protected:
  static constexpr StackId kHere = 9;

  NextWaitLog() {
    process::Sample open = Wait(kWorker, 1, 20, 0);
    open.snapshot = true;
    open.gil = process::Gil::kHeld;
    before_.OnClock(kWorker, kProcess, {.time_ns = 0, .number = 0});
    before_.AddWait(open, 3);
    log_.OnClock(kWorker, kProcess,
                 {.time_ns = 100 * kMs, .number = 1, .blocked_since_ns = 20 * kMs});
  }
  void Take() { log_.TakeOpen(before_, kWorker, 20 * kMs, kHere); }

  WaitLog before_{1000};
};

TEST_F(NextWaitLog, AWaitThatGoesOnIsTakenOver) {
  Take();
  log_.OnClock(kWorker, kProcess,
               {.time_ns = 200 * kMs, .number = 1, .blocked_since_ns = 20 * kMs});
  EXPECT_EQ(StateOf(kWorker, 150), StateAt::kBlocked);
  const LoggedWait& wait = *log_.FindWait(*log_.Find(kWorker), 20 * kMs);
  EXPECT_EQ(wait.node, kHere);
  EXPECT_TRUE(wait.is_open());
  EXPECT_EQ(wait.owner_word, 0u) << "it was read in the window before";
  EXPECT_EQ(log_.PythonThreads(kProcess).size(), 1u);
}

TEST_F(NextWaitLog, ItsSampleTakesItsPlace) {
  Take();
  log_.AddWait(Wait(kWorker, 2, 20, 130), 5);
  EXPECT_EQ(StateOf(kWorker, 120), StateAt::kBlocked);
  EXPECT_EQ(StateOf(kWorker, 150), StateAt::kRuns);
}

TEST_F(NextWaitLog, WhereItEndedWithoutASampleTheThreadRuns) {
  Take();
  log_.OnClock(kWorker, kProcess, {.time_ns = 200 * kMs, .number = 1});
  EXPECT_EQ(StateOf(kWorker, 150), StateAt::kRuns);
}

TEST_F(NextWaitLog, ALaterWaitShowsThatItIsOver) {
  Take();
  log_.AddWait(Wait(kWorker, 2, 160, 190), 5);
  EXPECT_EQ(StateOf(kWorker, 150), StateAt::kRuns);
  EXPECT_EQ(StateOf(kWorker, 170), StateAt::kBlocked);
}

TEST_F(NextWaitLog, AWaitThatWasOverBeforeIsNotTaken) {
  log_.AddWait(Wait(kWorker, 2, 20, 130), 5);
  Take();
  EXPECT_EQ(StateOf(kWorker, 150), StateAt::kRuns);
  log_.TakeOpen(before_, kWaiter, 20 * kMs, kHere);
  log_.TakeOpen(before_, kWorker, 21 * kMs, kHere);
  EXPECT_EQ(log_.threads().size(), 1u);
}

}  // namespace
}  // namespace profd::aggregate
