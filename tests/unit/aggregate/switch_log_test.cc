#include "daemon/aggregate/switches/switch_log.h"

#include <gtest/gtest.h>

namespace profd::aggregate {
namespace {

constexpr std::uint32_t kThread = 3;
constexpr ThreadKey kKey{7, 1};

wire::SwitchEvent Slept(std::uint64_t out_ns, std::uint64_t in_ns, std::uint64_t runnable_ns,
                        std::uint32_t cpu = 2) {
  wire::SwitchEvent event;
  event.header.thread = kKey;
  event.header.time_ns = in_ns;
  event.header.cpu = cpu;
  event.begin_ns = out_ns;
  event.runnable_ns = runnable_ns;
  event.state = PROFD_STATE_BLOCKED;
  event.kind = PROFD_INTERRUPTIBLE;
  return event;
}

wire::SwitchEvent Preempted(std::uint64_t out_ns, std::uint64_t in_ns) {
  wire::SwitchEvent event = Slept(out_ns, in_ns, in_ns - out_ns);
  event.state = PROFD_STATE_RUNNABLE;
  event.kind = PROFD_AFTER_PREEMPTION;
  return event;
}

wire::WakeEvent Woken(std::uint64_t time_ns, std::uint64_t begin_ns) {
  wire::WakeEvent event;
  event.header.time_ns = time_ns;
  event.header.process.pid = 40;
  event.header.thread.tid = 41;
  event.begin_ns = begin_ns;
  event.wakee = kKey;
  return event;
}

// From 100 to 200, all of it known.
Lifetime Life(std::uint64_t blocked_ns, std::uint64_t runnable_ns, std::uint64_t came) {
  Lifetime life;
  life.window = {100, 200};
  life.clock.blocked_ns[PROFD_INTERRUPTIBLE] = blocked_ns;
  life.clock.runnable_ns[PROFD_AFTER_WAKEUP] = runnable_ns;
  life.clock.on_cpu_ns = life.window.Length() - blocked_ns - runnable_ns;
  life.clock.on_cpu_count = came;
  life.clock_missing = false;
  return life;
}

TEST(SwitchLogTest, ASwitchHasItsTimesAndWhoWokeTheThread) {
  SwitchLog log;
  log.Add(Woken(126, 110));
  wire::WakeEvent late = Woken(128, 110);
  late.header.thread.tid = 42;
  log.Add(late);
  log.Add(Slept(110, 130, 3), kThread);
  log.Add(Preempted(150, 155), kThread);
  const auto of = log.Of(kThread, Life(17, 8, 2));
  EXPECT_TRUE(of.complete);
  ASSERT_EQ(of.switches.size(), 2u);
  const ThreadSwitch& slept = of.switches[0];
  EXPECT_EQ(slept.out_ns, 110u);
  EXPECT_EQ(slept.ready_ns, 127u);
  EXPECT_EQ(slept.in_ns, 130u);
  EXPECT_EQ(slept.cpu, 2u);
  EXPECT_EQ(slept.reason, LeaveReason::kSlept);
  EXPECT_EQ(slept.woken_ns, 126u);
  EXPECT_EQ(slept.waker_pid, 40u);
  EXPECT_EQ(slept.waker_tid, 41u);
  const ThreadSwitch& preempted = of.switches[1];
  EXPECT_EQ(preempted.reason, LeaveReason::kPreempted);
  EXPECT_EQ(preempted.ready_ns, 150u);
  EXPECT_EQ(preempted.waker_tid, 0u) << "nothing woke it";
}

TEST(SwitchLogTest, AWakeUpOfAWaitWhoseSwitchIsLostIsNotOfTheNextOne) {
  SwitchLog log;
  log.Add(Woken(105, 101));
  log.Add(Slept(110, 130, 0), kThread);
  EXPECT_EQ(log.Of(kThread, Life(20, 0, 1)).switches[0].woken_ns, 0u);
}

TEST(SwitchLogTest, AnInterruptIsNoThread) {
  SwitchLog log;
  wire::WakeEvent event = Woken(126, 110);
  event.interrupt = true;
  log.Add(event);
  log.Add(Slept(110, 130, 0), kThread);
  const auto of = log.Of(kThread, Life(20, 0, 1));
  EXPECT_TRUE(of.switches[0].by_interrupt);
  EXPECT_EQ(of.switches[0].woken_ns, 126u);
  EXPECT_EQ(of.switches[0].waker_tid, 0u);
}

TEST(SwitchLogTest, OnlyTheLifeOfTheThreadCounts) {
  SwitchLog log;
  log.Add(Slept(50, 90, 0), kThread);
  log.Add(Slept(95, 120, 5), kThread);
  log.Add(Slept(180, 220, 30), kThread);
  log.Add(Slept(230, 240, 0), kThread);
  const auto of = log.Of(kThread, Life(25, 15, 1));
  ASSERT_EQ(of.switches.size(), 2u);
  EXPECT_EQ(of.switches[0].out_ns, 100u);
  EXPECT_EQ(of.switches[0].ready_ns, 115u);
  EXPECT_EQ(of.switches[1].out_ns, 180u);
  EXPECT_EQ(of.switches[1].ready_ns, 190u);
  EXPECT_EQ(of.switches[1].in_ns, 0u) << "it is back after the end";
}

TEST(SwitchLogTest, WhatIsOpenAtTheEndIsOfTheClock) {
  SwitchLog log;
  log.Add(Slept(110, 120, 0), kThread);
  Lifetime blocked = Life(30, 0, 1);
  blocked.blocked_since_ns = 180;
  auto of = log.Of(kThread, blocked);
  ASSERT_EQ(of.switches.size(), 2u);
  EXPECT_EQ(of.switches[1].out_ns, 180u);
  EXPECT_EQ(of.switches[1].ready_ns, 200u);
  EXPECT_EQ(of.switches[1].in_ns, 0u);
  EXPECT_TRUE(of.complete);
  Lifetime runnable = Life(10, 20, 1);
  runnable.runnable_since_ns = 180;
  of = log.Of(kThread, runnable);
  EXPECT_EQ(of.switches[1].ready_ns, 180u);
  EXPECT_EQ(of.switches[1].reason, LeaveReason::kPreempted);
}

TEST(SwitchLogTest, ANewThreadBeginsWithWhatTheClockHasBefore) {
  SwitchLog log;
  log.Add(Slept(150, 160, 2), kThread);
  Lifetime life = Life(8 + 3, 2 + 4, 2);
  life.began = true;
  const auto of = log.Of(kThread, life);
  EXPECT_TRUE(of.complete);
  ASSERT_EQ(of.switches.size(), 2u);
  EXPECT_EQ(of.switches[0].reason, LeaveReason::kBegan);
  EXPECT_EQ(of.switches[0].out_ns, 100u);
  EXPECT_EQ(of.switches[0].ready_ns, 103u);
  EXPECT_EQ(of.switches[0].in_ns, 107u);
}

TEST(SwitchLogTest, WhereAHookSeesItComeThatIsTheFirstOne) {
  SwitchLog log;
  log.Add(Slept(100, 107, 4), kThread);
  Lifetime life = Life(3, 4, 1);
  life.began = true;
  const auto of = log.Of(kThread, life);
  EXPECT_TRUE(of.complete);
  ASSERT_EQ(of.switches.size(), 1u);
  EXPECT_EQ(of.switches[0].reason, LeaveReason::kBegan);
  EXPECT_EQ(of.switches[0].ready_ns, 103u);
}

TEST(SwitchLogTest, AThreadThatCameMoreOftenIsIncomplete) {
  SwitchLog log;
  log.Add(Slept(110, 120, 0), kThread);
  EXPECT_TRUE(log.Of(kThread, Life(10, 0, 1)).complete);
  EXPECT_FALSE(log.Of(kThread, Life(10, 0, 2)).complete);
  Lifetime without = Life(10, 0, 1);
  without.clock_missing = true;
  EXPECT_FALSE(log.Of(kThread, without).complete);
}

TEST(SwitchLogTest, IsBounded) {
  SwitchLog log;
  for (std::uint64_t i = 0; i < SwitchLog::kMaxSwitches + 5; ++i)
    log.Add(Slept(2 * i, 2 * i + 1, 0), kThread);
  EXPECT_EQ(log.dropped(), 5u);
}

}  // namespace
}  // namespace profd::aggregate
