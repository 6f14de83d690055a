// EffectivePeriods: how often samples are taken for all running sessions together.
#pragma once

#include <cstdint>

#include "bpf/shared/control.h"
#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/session/session_control.h"
#include "daemon/source/perf/on_cpu_events.h"
#include "daemon/source/sessions/pending_events.h"
#include "daemon/source/sessions/session_table.h"

namespace profd::source {

// The effective period of the BPF side is the finest one that sessions request, times the factor of
// the budget: for threads of requested sessions the finest of all, for other threads that of
// background sessions. Off the CPU it is that of a level of sampling points, the next longer one if
// need be; that of observers is PROFD_LONG_LEVEL at most. A PERIODS event reports each change.
// Owned by Sessions, used with its lock held.
class EffectivePeriods {
 public:
  // All must outlive this. `point_seed`: that of the BPF side.
  EffectivePeriods(profd_control& control, OnCpuEvents& on_cpu_events, PendingEvents& pending,
                   const Clock& clock, std::uint64_t point_seed);

  // Factors are 1 from the next call on: a new session begins with what it asks for.
  void Reset(bool background) { (background ? factors_.background : factors_.requested) = {}; }
  // A session has come or gone.
  [[nodiscard]] Result<void> Follow(const SessionTable& table);
  // Of the sampling points of observers; 0: no session in snapshot mode runs.
  [[nodiscard]] std::uint32_t observed_level() const { return observed_level_; }
  void SetFactors(const session::PerKind<session::PeriodFactors>& factors,
                  const SessionTable& table);

 private:
  // Of the observers: 0 where no session in snapshot mode runs.
  [[nodiscard]] session::PerKind<std::uint64_t> MakeObserved(const SessionTable& table) const;
  [[nodiscard]] wire::PeriodsNs Make(const SessionTable& table) const;

  profd_control& control_;
  OnCpuEvents& on_cpu_events_;
  PendingEvents& pending_;
  const Clock& clock_;
  const std::uint64_t point_seed_;
  session::PerKind<session::PeriodFactors> factors_;
  wire::PeriodsNs in_force_;
  std::uint32_t observed_level_ = 0;
};

}  // namespace profd::source
