#include "daemon/budget_keeper.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <utility>

namespace profd {
namespace {

BudgetKeeper::Work Since(const BudgetKeeper::Work& before, const BudgetKeeper::Work& now) {
  // CPU time is what is left of two times that are not read at one instant: it may go back.
  return {.cpu_ns = now.cpu_ns - std::min(now.cpu_ns, before.cpu_ns),
          .on_cpu_samples = now.on_cpu_samples - before.on_cpu_samples,
          .off_cpu_samples = now.off_cpu_samples - before.off_cpu_samples};
}

// Without any samples there is nothing to share.
double OffCpuShare(const BudgetKeeper::Work& work) {
  const auto on_cpu = static_cast<double>(work.on_cpu_samples);
  const auto off_cpu = static_cast<double>(work.off_cpu_samples);
  return on_cpu + off_cpu > 0 ? off_cpu / (on_cpu + off_cpu) : 1;
}

}  // namespace

BudgetKeeper::BudgetKeeper(source::SessionControl& control, const Clock& clock,
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

health::BudgetStanding BudgetKeeper::standing() const {
  const std::scoped_lock lock(mutex_);
  return standing_;
}

void BudgetKeeper::Run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "profd-budget");
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kInterval, [&] { return stop.stop_requested(); })) Look();
}

void BudgetKeeper::Look() {
  const source::SamplingBudget budget = control_.Budget();
  const std::uint64_t now_ns = clock_.MonotonicNs();
  const Work all = work_();
  const Work work = Since(std::exchange(worked_, all), all);
  const std::uint64_t elapsed_ns = now_ns - std::exchange(looked_ns_, now_ns);
  const std::uint64_t before_ns = std::exchange(spent_ns_, budget.spent_ns);
  if (elapsed_ns != 0) LookAtClocks(budget, elapsed_ns);
  // The source has set all factors to 1 for a new session: what came before is not its cost.
  const bool begins = std::exchange(starts_, budget.starts) != budget.starts;
  if (begins) governor_.Reset();
  if (begins || elapsed_ns == 0 || budget.spent_ns < before_ns) return;
  const std::uint64_t stages_ns =
      health::SpentOnSamples(work.cpu_ns, work.on_cpu_samples + work.off_cpu_samples);
  const double spent_cpus = static_cast<double>(budget.spent_ns - before_ns + stages_ns) /
                            static_cast<double>(elapsed_ns);
  const source::PeriodFactors factors = governor_.Look(spent_cpus, OffCpuShare(work), budget);
  source::PeriodFactors before;
  {
    const std::scoped_lock lock(mutex_);
    before = std::exchange(standing_.factors, factors);
    if (before.on_cpu != factors.on_cpu) ++standing_.on_cpu_changes;
    if (before.off_cpu != factors.off_cpu) ++standing_.off_cpu_changes;
    standing_.budget = budget;
    standing_.spent_cpus = budget.limited ? governor_.smoothed_cpus() : spent_cpus;
  }
  if (before.on_cpu != factors.on_cpu || before.off_cpu != factors.off_cpu)
    control_.SetPeriodFactors(factors);
}

void BudgetKeeper::LookAtClocks(const source::SamplingBudget& budget, std::uint64_t elapsed_ns) {
  const std::uint64_t clock_before_ns = std::exchange(clock_ns_, budget.clock_ns);
  const std::uint64_t switches_before = std::exchange(switches_, budget.switches);
  const bool before = clock_limit_.standing().kernel_books;
  // Made of two counters that are not read at one instant: it may go back.
  const std::uint64_t clock_ns = budget.clock_ns - std::min(budget.clock_ns, clock_before_ns);
  const bool books = clock_limit_.Look(clock_ns, budget.switches - switches_before, elapsed_ns);
  if (books != before && !control_.UseKernelBooks(books)) clock_limit_.GiveUp();
  const std::scoped_lock lock(mutex_);
  standing_.clock = clock_limit_.standing();
}

}  // namespace profd
