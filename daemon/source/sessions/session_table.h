// SessionTable: the sessions that run, and what the BPF side must do for all of them together.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "bpf/shared/limits.h"
#include "daemon/session/session_control.h"

namespace profd::source {

// Pure bookkeeping. A slot that was freed is used again as late as possible, so that events under
// way when a session ends do not meet its next_session. Not thread-safe.
class SessionTable {
 public:
  // The slot that Add would take. Nothing when all are in use.
  [[nodiscard]] std::optional<std::uint32_t> NextSlot() const;
  void Add(std::uint32_t slot, session::SessionSpec spec);
  void Remove(std::uint32_t slot);

  // Null when the slot is free.
  [[nodiscard]] const session::SessionSpec* Find(std::uint32_t slot) const;

  // Bit i: session i runs (and takes on-CPU, off-CPU samples).
  [[nodiscard]] std::uint64_t running() const;
  [[nodiscard]] std::uint64_t on_cpu() const;
  [[nodiscard]] std::uint64_t off_cpu() const;
  // Bit i: session i runs and looks at the threads of one user only.
  [[nodiscard]] std::uint64_t confined() const;

  // Bit i: session i runs, has a budget, and looks at all processes: each has a share of it.
  [[nodiscard]] std::uint64_t shared() const;

  // Bit i: session i runs in snapshot mode.
  [[nodiscard]] std::uint64_t observed() const;
  [[nodiscard]] std::uint64_t visited() const;  // of these, all but dumps
  // Bit i: session i runs and captures who ends waits.
  [[nodiscard]] std::uint64_t wakers() const;
  [[nodiscard]] std::uint64_t switches() const;
  // Bit i: session i runs, and hardware counters count for it.
  [[nodiscard]] std::uint64_t counted() const;
  // Bit i: session i runs and no client has requested it.
  [[nodiscard]] std::uint64_t background() const;
  // Bit i: session i runs and a client has requested it.
  [[nodiscard]] std::uint64_t requested() const { return running() & ~background(); }

  [[nodiscard]] bool AnyOf(session::TargetKind kind) const;

  // The finest period that a running session of a kind requests; 0: none does.
  [[nodiscard]] session::PerKind<std::uint64_t> on_cpu_periods_ns() const;
  [[nodiscard]] session::PerKind<std::uint64_t> off_cpu_periods_ns() const;
  // The same of the sessions in snapshot mode, which the one before does not count.
  [[nodiscard]] session::PerKind<std::uint64_t> observed_periods_ns() const;
  // Their sum at that time; a session without a limit lifts that of all of its kind.
  [[nodiscard]] session::PerKind<session::SamplingBudget> budgets(std::uint64_t now_ns) const;
  // The clock of the sessions that take on-CPU samples; nothing when none does.
  [[nodiscard]] std::optional<session::OnCpuClock> clock() const;

 private:
  std::array<std::optional<session::SessionSpec>, PROFD_MAX_SESSIONS> slots_;
  std::uint32_t next_ = 0;  // where the search for a free slot begins
};

}  // namespace profd::source
