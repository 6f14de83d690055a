#include "daemon/source/sessions/effective_periods.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "bpf/shared/observer.h"
#include "bpf/shared/points.h"
#include "daemon/source/bpf/control_word.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kLongestNs = 60'000'000'000;

std::uint64_t Raise(std::uint64_t period_ns, double factor) {
  const double raised = static_cast<double>(period_ns) * std::max(1.0, factor);
  if (raised <= static_cast<double>(period_ns)) return period_ns;
  return std::max(period_ns, static_cast<std::uint64_t>(
                                 std::min(std::round(raised), static_cast<double>(kLongestNs))));
}

// Of the sampling points whose period is this one, or the next longer one. 0: none.
std::uint64_t LevelOf(std::uint64_t period_ns) {
  return period_ns == 0 ? 0 : profd_level_not_below(period_ns);
}

std::uint64_t RaiseToLevel(std::uint64_t period_ns, double factor) {
  const std::uint64_t level = LevelOf(Raise(period_ns, factor));
  return level == 0 ? 0 : std::uint64_t{1} << level;
}

// Of two, where 0 is none.
std::uint64_t Finer(std::uint64_t one_ns, std::uint64_t other_ns) {
  if (one_ns == 0 || other_ns == 0) return std::max(one_ns, other_ns);
  return std::min(one_ns, other_ns);
}

}  // namespace

EffectivePeriods::EffectivePeriods(profd_control& control, OnCpuEvents& on_cpu_events,
                                   PendingEvents& pending, const Clock& clock,
                                   std::uint64_t point_seed)
    : control_(control),
      on_cpu_events_(on_cpu_events),
      pending_(pending),
      clock_(clock),
      point_seed_(point_seed) {}

void EffectivePeriods::SetFactors(const session::PerKind<session::PeriodFactors>& factors,
                                  const SessionTable& table) {
  factors_ = factors;
  // Only periods change: what runs, goes on.
  (void)Follow(table);
}

session::PerKind<std::uint64_t> EffectivePeriods::MakeObserved(const SessionTable& table) const {
  const session::PerKind<std::uint64_t> requested = table.observed_periods_ns();
  const auto raise = [](std::uint64_t period_ns, double factor) {
    return std::min(RaiseToLevel(period_ns, factor), std::uint64_t{1} << PROFD_LONG_LEVEL);
  };
  return {.requested = raise(requested.requested, factors_.requested.off_cpu),
          .background = raise(requested.background, factors_.background.off_cpu)};
}

wire::PeriodsNs EffectivePeriods::Make(const SessionTable& table) const {
  const session::PerKind<std::uint64_t> on_cpu = table.on_cpu_periods_ns();
  const session::PerKind<std::uint64_t> off_cpu = table.off_cpu_periods_ns();
  wire::PeriodsNs periods;
  periods.background_on_cpu = Raise(on_cpu.background, factors_.background.on_cpu);
  periods.background_off_cpu = RaiseToLevel(off_cpu.background, factors_.background.off_cpu);
  periods.on_cpu =
      Finer(Raise(on_cpu.requested, factors_.requested.on_cpu), periods.background_on_cpu);
  if (off_cpu.requested != 0)
    periods.off_cpu =
        RaiseToLevel(Finer(off_cpu.requested, off_cpu.background), factors_.requested.off_cpu);
  const session::PerKind<std::uint64_t> observed = MakeObserved(table);
  periods.off_cpu = Finer(periods.off_cpu, observed.requested);
  periods.background_off_cpu = Finer(periods.background_off_cpu, observed.background);
  return periods;
}

Result<void> EffectivePeriods::Follow(const SessionTable& table) {
  const wire::PeriodsNs periods = Make(table);
  if (std::exchange(in_force_, periods) != periods) {
    std::vector<wire::EventBytes> change;
    change.push_back(wire::LayOutPeriods(clock_.MonotonicNs(), periods, point_seed_));
    pending_.PutBefore(std::move(change));
  }
  StoreControl(control_.background_off_cpu_level, LevelOf(periods.background_off_cpu));
  StoreControl(control_.off_cpu_level, LevelOf(periods.off_cpu));
  StoreControl(control_.requested_sessions, table.requested());
  StoreControl(control_.shared_sessions, table.shared());
  StoreControl(control_.off_cpu_sessions, table.off_cpu() & ~table.observed());
  StoreControl(control_.waker_sessions, table.wakers());
  StoreControl(control_.switch_sessions, table.switches());
  const session::PerKind<std::uint64_t> observed = MakeObserved(table);
  observed_level_ =
      static_cast<std::uint32_t>(LevelOf(Finer(observed.requested, observed.background)));
  StoreControl(control_.on_cpu_sessions, table.on_cpu());
  const auto clock = table.clock();
  if (!clock) {
    on_cpu_events_.Stop();
    return {};
  }
  auto run = on_cpu_events_.Run(*clock, periods.on_cpu);
  const bool ticks_finer = periods.on_cpu < periods.background_on_cpu;
  StoreControl(control_.background_on_cpu_period,
               ticks_finer ? on_cpu_events_.UnitsOf(periods.background_on_cpu) : 0);
  return run;
}

}  // namespace profd::source
