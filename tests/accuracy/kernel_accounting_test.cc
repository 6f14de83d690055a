#include "tests/accuracy/kernel_accounting.h"

#include <gtest/gtest.h>

namespace profd::accuracy {
namespace {

constexpr double kTickNs = 4'000'000;
constexpr std::uint64_t kNoSteal = 0;
constexpr std::uint64_t kSteal = 50'000'000;

// Lives for 10 ms: 6 on the CPU, 1 runnable in 10 waits, and reads kernel accounting at its very
// end.
v1::Thread TenWaits() {
  v1::Thread thread;
  thread.set_begin_ns(1'000'000'000);
  thread.set_end_ns(1'010'000'000);
  thread.mutable_clock()->set_on_cpu_ns(6'000'000);
  thread.mutable_clock()->set_runnable_after_wakeup_ns(1'000'000);
  thread.mutable_clock()->set_runnable_after_wakeup_count(10);
  thread.mutable_clock()->set_blocked_interruptible_ns(3'000'000);
  return thread;
}

KernelAccounting KernelAccountingOfIt() {
  return {.read_ns = 1'010'000'000,
          .cpu_when_read_ns = 6'000'000,
          .run_ns = 6'000'000,
          .run_delay_ns = 1'000'000,
          .cpu_at_begin_ns = 0};
}

bool Holds(const KernelAccounting& accounting, std::uint64_t most_stolen_ns, int good_ones = 0) {
  AccountingJudgement judgement(kTickNs);
  judgement.Add(TenWaits(), accounting);
  for (int i = 0; i < good_ones; ++i) judgement.Add(TenWaits(), KernelAccountingOfIt());
  return judgement.Holds(most_stolen_ns);
}

TEST(AccountingJudgement, HoldsWithinAMicrosecondAWait) {
  KernelAccounting accounting = KernelAccountingOfIt();
  EXPECT_TRUE(Holds(accounting, kNoSteal));
  accounting.run_delay_ns += 11'000;  // ten waits, and the one that may be under way
  EXPECT_TRUE(Holds(accounting, kNoSteal));
  accounting.run_delay_ns -= 22'000;
  EXPECT_TRUE(Holds(accounting, kNoSteal));
}

TEST(AccountingJudgement, TwoMicrosecondsAWaitAreTooMuch) {
  KernelAccounting more = KernelAccountingOfIt();
  more.run_delay_ns += 20'000;
  KernelAccounting less = KernelAccountingOfIt();
  less.run_delay_ns -= 20'000;
  for (const std::uint64_t stolen_ns : {kNoSteal, kSteal}) {
    EXPECT_FALSE(Holds(more, stolen_ns));
    EXPECT_FALSE(Holds(less, stolen_ns));
  }
}

TEST(AccountingJudgement, TwoMicrosecondsInAllAreTooMuch) {
  KernelAccounting accounting = KernelAccountingOfIt();
  accounting.run_delay_ns += 11'000 + 2'000;
  EXPECT_FALSE(Holds(accounting, kNoSteal));
}

TEST(AccountingJudgement, WhatItRanBeforeItsFirstInstructionMayBeMissingInAWait) {
  KernelAccounting accounting = KernelAccountingOfIt();
  accounting.cpu_at_begin_ns = 30'000;
  accounting.run_delay_ns += 11'000 + 30'000;
  EXPECT_TRUE(Holds(accounting, kNoSteal));
  accounting.run_delay_ns += 2'000;
  EXPECT_FALSE(Holds(accounting, kNoSteal));
  accounting.run_delay_ns = 1'000'000 - 13'000;  // but no wait is longer for it
  EXPECT_FALSE(Holds(accounting, kNoSteal));
}

TEST(AccountingJudgement, WhatCameAfterTheReadingMayHaveBeenAWait) {
  KernelAccounting accounting = KernelAccountingOfIt();
  accounting.read_ns -= 200'000;
  accounting.run_delay_ns -= 200'000;
  EXPECT_TRUE(Holds(accounting, kNoSteal));
  accounting.cpu_when_read_ns -= 150'000;  // but three quarters of it were spent running
  EXPECT_FALSE(Holds(accounting, kNoSteal));
}

TEST(AccountingJudgement, OneInAHundredMayBeStolenFrom) {
  KernelAccounting accounting = KernelAccountingOfIt();
  accounting.run_delay_ns += 300'000;
  EXPECT_FALSE(Holds(accounting, kSteal));
  EXPECT_FALSE(Holds(accounting, kSteal, 98));
  EXPECT_TRUE(Holds(accounting, kSteal, 99));
  EXPECT_FALSE(Holds(accounting, kNoSteal, 99)) << "nothing was stolen";
  accounting.run_delay_ns += 100'000'000;
  EXPECT_FALSE(Holds(accounting, kSteal, 99)) << "more than was stolen";
}

TEST(AccountingJudgement, OnCpuIsWithinATickWhateverWasStolen) {
  KernelAccounting accounting = KernelAccountingOfIt();
  accounting.run_ns -= kTickNs;
  EXPECT_TRUE(Holds(accounting, kNoSteal));
  accounting.run_ns -= 1'000'000;
  EXPECT_FALSE(Holds(accounting, kNoSteal));
  EXPECT_FALSE(Holds(accounting, kSteal));
}

TEST(AfterAccounting, IsWhatTheClockHasMore) {
  KernelAccounting accounting = KernelAccountingOfIt();
  EXPECT_EQ(AfterAccountingNs(TenWaits(), accounting), 11'000);
  accounting.cpu_when_read_ns -= 70'000;
  accounting.run_delay_ns -= 500'000;
  EXPECT_EQ(AfterAccountingNs(TenWaits(), accounting), 581'000);
}

}  // namespace
}  // namespace profd::accuracy
