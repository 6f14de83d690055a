#include "daemon/budget_keeper.h"

#include <pthread.h>

#include <condition_variable>
#include <utility>

namespace profd {

BudgetKeeper::BudgetKeeper(source::SessionControl& control, const Clock& clock,
                           std::function<std::uint64_t()> stage_cpu_ns)
    : control_(control),
      clock_(clock),
      stage_cpu_ns_(std::move(stage_cpu_ns)),
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
  const std::uint64_t spent_ns = budget.spent_ns + stage_cpu_ns_();
  const std::uint64_t elapsed_ns = now_ns - std::exchange(looked_ns_, now_ns);
  const std::uint64_t before_ns = std::exchange(spent_ns_, spent_ns);
  // The source has set all factors to 1 for a new session: what came before is not its cost.
  const bool begins = std::exchange(starts_, budget.starts) != budget.starts;
  if (begins) governor_.Reset();
  if (begins || elapsed_ns == 0 || spent_ns < before_ns) return;
  const double spent_cpus =
      static_cast<double>(spent_ns - before_ns) / static_cast<double>(elapsed_ns);
  const source::PeriodFactors factors = governor_.Look(spent_cpus, budget);
  source::PeriodFactors before;
  {
    const std::scoped_lock lock(mutex_);
    before = std::exchange(standing_.factors, factors);
    standing_.budget = budget;
    standing_.spent_cpus = budget.limited ? governor_.smoothed_cpus() : spent_cpus;
  }
  if (before.on_cpu != factors.on_cpu || before.off_cpu != factors.off_cpu)
    control_.SetPeriodFactors(factors);
}

}  // namespace profd
