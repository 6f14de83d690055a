#include "tests/accuracy/kernel_accounting.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace profd::accuracy {
namespace {

// Of each wait, and of the one that may be under way.
double QueuedNs(const v1::ThreadClock& clock) {
  return 1000.0 * static_cast<double>(RunnableCount(clock) + 1);
}

double OnCpuAndStolenNs(const v1::ThreadClock& clock) {
  return static_cast<double>(clock.on_cpu_ns() + StolenNs(clock));
}

// By how much runnable time lies outside of what kernel accounting allows.
double BeyondNs(const v1::Thread& thread, const KernelAccounting& accounting) {
  // What the thread did after it had read kernel accounting: it was on a CPU, and at most all else
  // was a wait.
  const double tail_ns = static_cast<double>(thread.end_ns()) - accounting.read_ns -
                         (OnCpuAndStolenNs(thread.clock()) - accounting.cpu_when_read_ns);
  const double apart_ns = static_cast<double>(RunnableNs(thread.clock())) - accounting.run_delay_ns;
  const double queued_ns = QueuedNs(thread.clock());
  return std::max({0.0, -apart_ns - queued_ns - accounting.cpu_at_begin_ns,
                   apart_ns - queued_ns - std::max(0.0, tail_ns)});
}

}  // namespace

std::uint64_t RunnableNs(const v1::ThreadClock& clock) {
  return clock.runnable_after_wakeup_ns() + clock.runnable_after_preemption_ns() +
         clock.runnable_after_yield_ns();
}

std::uint64_t RunnableCount(const v1::ThreadClock& clock) {
  return clock.runnable_after_wakeup_count() + clock.runnable_after_preemption_count() +
         clock.runnable_after_yield_count();
}

std::uint64_t BlockedNs(const v1::ThreadClock& clock) {
  return clock.blocked_interruptible_ns() + clock.blocked_uninterruptible_ns() +
         clock.blocked_iowait_ns();
}

std::uint64_t StolenNs(const v1::ThreadClock& clock) {
  return clock.stolen_exact_ns() + clock.stolen_spread_ns();
}

std::uint64_t ElapsedNs(const v1::ThreadClock& clock) {
  return clock.on_cpu_ns() + StolenNs(clock) + RunnableNs(clock) + BlockedNs(clock);
}

double AfterAccountingNs(const v1::Thread& thread, const KernelAccounting& accounting) {
  const v1::ThreadClock& clock = thread.clock();
  const double on_cpu_ns = OnCpuAndStolenNs(clock) - accounting.cpu_when_read_ns;
  const double runnable_ns = static_cast<double>(RunnableNs(clock)) - accounting.run_delay_ns;
  return std::max(0.0, on_cpu_ns) + std::max(0.0, runnable_ns) + QueuedNs(clock);
}

void AccountingJudgement::Add(const v1::Thread& thread, const KernelAccounting& accounting) {
  ++threads_;
  const double on_cpu_ns =
      std::abs(static_cast<double>(thread.clock().on_cpu_ns()) - accounting.run_ns);
  worst_on_cpu_ns_ = std::max(worst_on_cpu_ns_, on_cpu_ns - tick_ns_);
  const double beyond_ns = BeyondNs(thread, accounting);
  if (beyond_ns > 0) ++beyond_;
  beyond_ns_ += beyond_ns;
}

bool AccountingJudgement::Holds(std::uint64_t most_stolen_ns) const {
  const auto most_ns = static_cast<double>(most_stolen_ns);
  return worst_on_cpu_ns_ <= 0 && beyond_ns_ <= most_ns && beyond_ * 100 <= threads_;
}

std::string AccountingJudgement::Text() const {
  std::ostringstream text;
  text << beyond_ << " of " << threads_ << " threads wait " << beyond_ns_
       << " ns other than kernel accounting says; on the CPU the worst is " << worst_on_cpu_ns_
       << " ns beyond a tick";
  return text.str();
}

}  // namespace profd::accuracy
