#include "daemon/budget/budget_keeper.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

#include "daemon/base/mul_div.h"

namespace profd::budget {
namespace {

std::uint64_t Sum(const session::SampleCounts& counts) { return counts.on_cpu + counts.off_cpu; }

// Without any samples there is nothing to share.
double OffCpuShare(const session::SampleCounts& before, const session::SampleCounts& now) {
  const auto on_cpu = static_cast<double>(now.on_cpu - before.on_cpu);
  const auto off_cpu = static_cast<double>(now.off_cpu - before.off_cpu);
  return on_cpu + off_cpu > 0 ? off_cpu / (on_cpu + off_cpu) : 1;
}

}  // namespace

std::uint64_t BudgetKeeper::SpentBetween(const Measurement& before, const Measurement& now) {
  // CPU time is what is left of two times that are not read at one instant: it may go back. What
  // the programs have spent goes back where they were loaded again.
  const std::uint64_t cpu_ns = now.cpu_ns - std::min(now.cpu_ns, before.cpu_ns);
  const std::uint64_t programs_ns =
      now.budget.spent_ns - std::min(now.budget.spent_ns, before.budget.spent_ns);
  const std::uint64_t samples = now.samples - before.samples;
  const std::uint64_t own = Sum(now.own) - Sum(before.own);
  if (samples == 0) return programs_ns;
  return programs_ns + MulDiv(SpentOnSamples(cpu_ns, samples), own, samples);
}

BudgetKeeper::BudgetKeeper(session::SessionControl& control, const Clock& clock,
                           double clock_limit_cpus, std::function<Work()> work)
    : control_(control),
      clock_(clock),
      work_(std::move(work)),
      clock_limit_(clock_limit_cpus),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

BudgetKeeper::~BudgetKeeper() { Stop(); }

void BudgetKeeper::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

BudgetStatus BudgetKeeper::status() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}

void BudgetKeeper::Run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-budget");
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  const auto pause = [&]() -> std::chrono::nanoseconds {
    return glances_ ? kGlance : std::chrono::nanoseconds(kLookNs);
  };
  while (!stopped.wait_for(lock, stop, pause(), [&] { return stop.stop_requested(); })) Look();
}

void BudgetKeeper::Look() {
  const session::BudgetReading reading = control_.Budget();
  const Work work = work_();
  Measurement measured;
  measured.now_ns = clock_.MonotonicNs();
  measured.cpu_ns = work.cpu_ns;
  measured.samples = Sum(work.samples.requested) + Sum(work.samples.background);
  LookAtClocks(reading, measured.now_ns);
  glances_ = reading.sampling.requested.limited && !reading.sampling.requested.on_cpu_adjusts;

  const auto look_at = [&measured](Kind& kind, const session::SamplingBudget& budget,
                                   const session::SampleCounts& own) {
    measured.budget = budget;
    measured.own = own;
    return LookAt(kind, measured);
  };
  const bool requested_change =
      look_at(kinds_.requested, reading.sampling.requested, work.samples.requested);
  const bool background_change =
      look_at(kinds_.background, reading.sampling.background, work.samples.background);
  {
    const std::scoped_lock lock(mutex_);
    status_.sampling = {.requested = kinds_.requested.status,
                        .background = kinds_.background.status};
  }
  if (requested_change || background_change)
    control_.SetPeriodFactors({.requested = kinds_.requested.status.factors,
                               .background = kinds_.background.status.factors});
}

bool BudgetKeeper::LookAt(Kind& kind, const Measurement& measured) {
  const std::uint64_t elapsed_ns = measured.now_ns - kind.last.now_ns;
  const std::uint64_t spent_ns = SpentBetween(kind.last, measured);
  // The source has set its factors to 1 for a new session: what came before is not its cost.
  const bool begins = kind.last.budget.starts != measured.budget.starts;
  if (!begins && !IsLookOver(elapsed_ns, spent_ns, measured.budget)) return false;
  const Measurement before = std::exchange(kind.last, measured);
  const double spent_cpus = CostOfLook(elapsed_ns, spent_ns);
  session::PeriodFactors factors;
  if (begins) {
    kind.governor.Reset();
  } else {
    factors = kind.governor.Look(spent_cpus, OffCpuShare(before.own, measured.own), measured.budget,
                                 elapsed_ns < kLookNs);
  }
  SamplingStatus& status = kind.status;
  const session::PeriodFactors were = std::exchange(status.factors, factors);
  if (were.on_cpu != factors.on_cpu) ++status.on_cpu_changes;
  if (were.off_cpu != factors.off_cpu) ++status.off_cpu_changes;
  status.budget = measured.budget;
  if (!begins)
    status.spent_cpus = measured.budget.limited ? kind.governor.smoothed_cpus() : spent_cpus;
  return were != factors;
}

void BudgetKeeper::LookAtClocks(const session::BudgetReading& reading, std::uint64_t now_ns) {
  const std::uint64_t elapsed_ns = now_ns - clocks_looked_ns_;
  if (elapsed_ns < kLookNs) return;
  clocks_looked_ns_ = now_ns;
  const std::uint64_t clock_before_ns = std::exchange(clock_ns_, reading.clock_ns);
  const std::uint64_t switches_before = std::exchange(switches_, reading.switches);
  const bool before = clock_limit_.status().kernel_accounting;
  // Made of two counters that are not read at one instant: it may go back.
  const std::uint64_t clock_ns = reading.clock_ns - std::min(reading.clock_ns, clock_before_ns);
  const bool accounting =
      clock_limit_.Look(clock_ns, reading.switches - switches_before, elapsed_ns);
  if (accounting != before && !control_.UseKernelAccounting(accounting)) clock_limit_.GiveUp();
  const std::scoped_lock lock(mutex_);
  status_.clock = clock_limit_.status();
}

}  // namespace profd::budget
