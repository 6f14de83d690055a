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
  const auto pause = [&]() -> std::chrono::nanoseconds {
    return glances_ ? kGlance : std::chrono::nanoseconds(health::kLookNs);
  };
  while (!stopped.wait_for(lock, stop, pause(), [&] { return stop.stop_requested(); })) Look();
}

void BudgetKeeper::Look() {
  const source::SamplingBudget budget = control_.Budget();
  const std::uint64_t now_ns = clock_.MonotonicNs();
  const Work all = work_();
  const Work work = Since(worked_, all);
  const std::uint64_t elapsed_ns = now_ns - looked_ns_;
  // It goes back where programs were loaded anew.
  const std::uint64_t programs_ns = budget.spent_ns - std::min(budget.spent_ns, spent_ns_);
  const std::uint64_t spent_ns =
      programs_ns + health::SpentOnSamples(work.cpu_ns, work.on_cpu_samples + work.off_cpu_samples);
  LookAtClocks(budget, now_ns);
  glances_ = budget.limited && !budget.on_cpu_adjusts;
  const bool begins = starts_ != budget.starts;
  if (!begins && !health::IsLookOver(elapsed_ns, spent_ns, budget)) return;
  worked_ = all;
  looked_ns_ = now_ns;
  spent_ns_ = budget.spent_ns;
  starts_ = budget.starts;
  // The source has set all factors to 1 for a new session: what came before is not its cost.
  if (begins)
    governor_.Reset();
  else
    Regulate(budget, elapsed_ns, spent_ns, OffCpuShare(work));
}

void BudgetKeeper::Regulate(const source::SamplingBudget& budget, std::uint64_t elapsed_ns,
                            std::uint64_t spent_ns, double off_cpu_share) {
  const double spent_cpus = health::CostOfLook(elapsed_ns, spent_ns);
  const source::PeriodFactors factors =
      governor_.Look(spent_cpus, off_cpu_share, budget, elapsed_ns < health::kLookNs);
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

void BudgetKeeper::LookAtClocks(const source::SamplingBudget& budget, std::uint64_t now_ns) {
  const std::uint64_t elapsed_ns = now_ns - clocks_looked_ns_;
  if (elapsed_ns < health::kLookNs) return;
  clocks_looked_ns_ = now_ns;
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
