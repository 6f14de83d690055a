#include "daemon/budget/cpu/cpu_controller.h"

#include <algorithm>
#include <utility>

#include "daemon/base/mul_div.h"

namespace profd::budget {
namespace {

std::uint64_t Sum(const session::SampleCounts& counts) { return counts.on_cpu + counts.off_cpu; }

std::uint64_t Growth(std::uint64_t before, std::uint64_t now) {
  return now - std::min(now, before);
}

// 1 if there are no samples.
double OffCpuShare(const session::SampleCounts& before, const session::SampleCounts& now) {
  const auto on_cpu = static_cast<double>(now.on_cpu - before.on_cpu);
  const auto off_cpu = static_cast<double>(now.off_cpu - before.off_cpu);
  return on_cpu + off_cpu > 0 ? off_cpu / (on_cpu + off_cpu) : 1;
}

}  // namespace

std::uint64_t SpentOnSamples(std::uint64_t stages_ns, const StageWork& work) {
  if (work.samples == 0) return 0;
  const std::uint64_t stacks = work.samples + work.snapshots + work.others / kEventsPerStack;
  const std::uint64_t share_ns = MulDiv(stages_ns, work.samples, stacks);
  return work.samples > share_ns / kMostPerSampleNs ? share_ns : work.samples * kMostPerSampleNs;
}

bool IsComplete(std::uint64_t elapsed_ns, std::uint64_t spent_ns,
                const session::SamplingBudget& budget) {
  return elapsed_ns >= kMeasurementNs ||
         (budget.limited && MeanCpus(kMeasurementNs, spent_ns) > budget.cpus);
}

double MeanCpus(std::uint64_t elapsed_ns, std::uint64_t spent_ns) {
  return static_cast<double>(spent_ns) / static_cast<double>(std::max(elapsed_ns, kMeasurementNs));
}

CpuController::Changes CpuController::Update(const Reading& now) {
  Changes changes{.factors = {}, .hooks_refused = MeasureClocks(now)};
  const auto& budgets = now.kernel.sampling;
  frequent_ = budgets.requested.limited && !budgets.requested.on_cpu_adjusts;

  Measurement measured{.now_ns = now.now_ns,
                       .budget = budgets.requested,
                       .stages_ns = now.stages_ns,
                       .work = {.samples = Sum(now.samples.requested) + Sum(now.samples.background),
                                .snapshots = now.snapshots,
                                .others = now.others},
                       .own = now.samples.requested};
  bool changed = Measure(kinds_.requested, measured, status_.sampling.requested);
  measured.budget = budgets.background;
  measured.own = now.samples.background;
  changed = Measure(kinds_.background, measured, status_.sampling.background) || changed;
  if (changed)
    changes.factors = {.requested = status_.sampling.requested.factors,
                       .background = status_.sampling.background.factors};
  return changes;
}

void CpuController::AllowHooks() {
  clock_controller_.Disable();
  status_.clock = clock_controller_.status();
}

// The CPU time of the stages is shared out by what they have handled.
std::uint64_t CpuController::SpentBetween(const Measurement& before, const Measurement& now) {
  const std::uint64_t stages_ns = Growth(before.stages_ns, now.stages_ns);
  const std::uint64_t programs_ns = Growth(before.budget.spent_ns, now.budget.spent_ns);
  const StageWork work{.samples = now.work.samples - before.work.samples,
                       .snapshots = now.work.snapshots - before.work.snapshots,
                       .others = now.work.others - before.work.others};
  const std::uint64_t own = Sum(now.own) - Sum(before.own);
  if (work.samples == 0) return programs_ns;
  return programs_ns + MulDiv(SpentOnSamples(stages_ns, work), own, work.samples);
}

bool CpuController::Measure(Kind& kind, const Measurement& now, SamplingStatus& status) {
  const std::uint64_t elapsed_ns = now.now_ns - kind.last.now_ns;
  const std::uint64_t spent_ns = SpentBetween(kind.last, now);
  // The source sets the factors to 1 for a new session, which does not pay for the time before it.
  const bool starts = kind.last.budget.starts != now.budget.starts;
  if (!starts && !IsComplete(elapsed_ns, spent_ns, now.budget)) return false;
  const Measurement before = std::exchange(kind.last, now);
  const double spent_cpus = MeanCpus(elapsed_ns, spent_ns);
  session::PeriodFactors factors;
  if (starts) {
    kind.controller.Reset();
  } else {
    factors = kind.controller.Update(spent_cpus, OffCpuShare(before.own, now.own), now.budget,
                                     elapsed_ns < kMeasurementNs);
  }
  const session::PeriodFactors were = std::exchange(status.factors, factors);
  if (were.on_cpu != factors.on_cpu) ++status.on_cpu_changes;
  if (were.off_cpu != factors.off_cpu) ++status.off_cpu_changes;
  status.budget = now.budget;
  if (!starts)
    status.spent_cpus = now.budget.limited ? kind.controller.smoothed_cpus() : spent_cpus;
  return were != factors;
}

std::optional<bool> CpuController::MeasureClocks(const Reading& now) {
  if (!now.host_switches || now.now_ns <= clocks_measured_ns_) return {};
  const bool first = clocks_measured_ns_ == 0;
  ClockController::Growth growth;
  growth.elapsed_ns = now.now_ns - std::exchange(clocks_measured_ns_, now.now_ns);
  growth.clock_ns = Growth(std::exchange(clock_ns_, now.kernel.clock_ns), now.kernel.clock_ns);
  growth.switches = Growth(std::exchange(switches_, now.kernel.switches), now.kernel.switches);
  growth.host_switches =
      Growth(std::exchange(host_switches_, *now.host_switches), *now.host_switches);
  if (first) return {};
  const bool before = clock_controller_.status().hooks_refused;
  const bool refused = clock_controller_.Update(growth);
  status_.clock = clock_controller_.status();
  if (refused == before) return {};
  return refused;
}

}  // namespace profd::budget
