#include "daemon/source/periods_in_force.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "daemon/source/epochs.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kLongestNs = 60'000'000'000;

std::uint64_t Raise(std::uint64_t period_ns, double factor) {
  const double raised = static_cast<double>(period_ns) * std::max(1.0, factor);
  if (raised <= static_cast<double>(period_ns)) return period_ns;
  return std::max(period_ns, static_cast<std::uint64_t>(
                                 std::min(std::round(raised), static_cast<double>(kLongestNs))));
}

}  // namespace

PeriodsInForce::PeriodsInForce(profd_control& control, OnCpuEvents& on_cpu_events,
                               PendingEvents& pending, const Clock& clock)
    : control_(control), on_cpu_events_(on_cpu_events), pending_(pending), clock_(clock) {}

void PeriodsInForce::SetFactors(const PeriodFactors& factors, const SessionTable& table) {
  factors_ = factors;
  // Only periods change: what runs, goes on.
  (void)Follow(table);
}

Result<void> PeriodsInForce::Follow(const SessionTable& table) {
  const std::uint64_t on_cpu_ns = Raise(table.on_cpu_period_ns(), factors_.on_cpu);
  const std::uint64_t off_cpu_ns = Raise(table.off_cpu_period_ns(), factors_.off_cpu);
  const bool on_cpu_changes = std::exchange(on_cpu_ns_, on_cpu_ns) != on_cpu_ns;
  const bool off_cpu_changes = std::exchange(off_cpu_ns_, off_cpu_ns) != off_cpu_ns;
  if (on_cpu_changes || off_cpu_changes) {
    std::vector<EventBytes> change;
    change.push_back(LayOutPeriods(clock_.MonotonicNs(), on_cpu_ns, off_cpu_ns));
    pending_.PutBefore(std::move(change));
  }
  StoreControl(control_.off_cpu_period_ns, off_cpu_ns);
  StoreControl(control_.off_cpu_sessions, table.off_cpu());
  StoreControl(control_.on_cpu_sessions, table.on_cpu());
  if (const auto clock = table.clock()) return on_cpu_events_.Run(*clock, on_cpu_ns);
  on_cpu_events_.Stop();
  return {};
}

}  // namespace profd::source
