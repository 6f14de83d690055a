// A thread's clock against kernel accounting of the same thread.
//
// The kernel counts run time and waits for a CPU itself (/proc/PID/task/TID/schedstat), by a clock
// that stands still while a hypervisor has the CPU. So on_cpu agrees within a tick, by which the
// kernel's sum may be old: stolen time is a part of its own; runnable within 1 us a wait, as the
// kernel begins a wait at the enqueue. A thread that is born on an idle CPU runs, for the kernel,
// from its wake-up on, while the CPU still leaves its idle state and no hook has seen it: what it
// has run for the kernel before its first instruction may be missing in its next wait. A CPU that
// is stolen between the kernel's reading of its clock and the hook's makes one wait longer or
// shorter by as much: that may happen to one thread in a hundred. Fewer threads agree all, if need
// be in another run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::accuracy {

// Of a clock, summed over kinds.
[[nodiscard]] std::uint64_t RunnableNs(const v1::ThreadClock& clock);
[[nodiscard]] std::uint64_t RunnableCount(const v1::ThreadClock& clock);
[[nodiscard]] std::uint64_t BlockedNs(const v1::ThreadClock& clock);
[[nodiscard]] std::uint64_t StolenNs(const v1::ThreadClock& clock);
[[nodiscard]] std::uint64_t ElapsedNs(const v1::ThreadClock& clock);

// What a thread read of itself towards its end.
struct KernelAccounting {
  double read_ns = 0;           // when, CLOCK_MONOTONIC
  double cpu_when_read_ns = 0;  // CLOCK_THREAD_CPUTIME_ID then
  double run_ns = 0;            // sum_exec_runtime, as of the last tick
  double run_delay_ns = 0;
  double cpu_at_begin_ns = 0;  // CLOCK_THREAD_CPUTIME_ID, the first thing that it did
};

// What of a thread's life came after it had read kernel accounting: no more than the clock has
// beyond them.
[[nodiscard]] double AfterAccountingNs(const v1::Thread& thread,
                                       const KernelAccounting& accounting);

// Judges all threads of one run.
class AccountingJudgement {
 public:
  explicit AccountingJudgement(double tick_ns) : tick_ns_(tick_ns) {}

  void Add(const v1::Thread& thread, const KernelAccounting& accounting);
  // `most_stolen_ns`: steal time of the whole machine during the run, at most.
  [[nodiscard]] bool Holds(std::uint64_t most_stolen_ns) const;
  [[nodiscard]] std::string Text() const;

 private:
  double tick_ns_;
  std::size_t threads_ = 0;
  double worst_on_cpu_ns_ = 0;  // beyond the tick
  std::size_t beyond_ = 0;      // threads whose runnable time kernel accounting does not allow
  double beyond_ns_ = 0;        // by so much, together
};

}  // namespace profd::accuracy
