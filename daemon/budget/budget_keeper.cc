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

std::uint64_t BudgetKeeper::SpentBetween(const Sight& before, const Sight& now) {
  // CPU time is what is left of two times that are not read at one instant: it may go back. What
  // the programs have spent goes back where they were loaded anew.
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

BudgetStanding BudgetKeeper::standing() const {
  const std::scoped_lock lock(mutex_);
  return standing_;
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
  Sight sight;
  sight.now_ns = clock_.MonotonicNs();
  sight.cpu_ns = work.cpu_ns;
  sight.samples = Sum(work.samples.asked) + Sum(work.samples.standing);
  LookAtClocks(reading, sight.now_ns);
  glances_ = reading.sampling.asked.limited && !reading.sampling.asked.on_cpu_adjusts;

  const auto look_at = [&sight](Kind& kind, const session::SamplingBudget& budget,
                                const session::SampleCounts& own) {
    sight.budget = budget;
    sight.own = own;
    return LookAt(kind, sight);
  };
  const bool asked_change = look_at(kinds_.asked, reading.sampling.asked, work.samples.asked);
  const bool standing_change =
      look_at(kinds_.standing, reading.sampling.standing, work.samples.standing);
  {
    const std::scoped_lock lock(mutex_);
    standing_.sampling = {.asked = kinds_.asked.standing, .standing = kinds_.standing.standing};
  }
  if (asked_change || standing_change)
    control_.SetPeriodFactors(
        {.asked = kinds_.asked.standing.factors, .standing = kinds_.standing.standing.factors});
}

bool BudgetKeeper::LookAt(Kind& kind, const Sight& sight) {
  const std::uint64_t elapsed_ns = sight.now_ns - kind.last.now_ns;
  const std::uint64_t spent_ns = SpentBetween(kind.last, sight);
  // The source has set its factors to 1 for a new session: what came before is not its cost.
  const bool begins = kind.last.budget.starts != sight.budget.starts;
  if (!begins && !IsLookOver(elapsed_ns, spent_ns, sight.budget)) return false;
  const Sight before = std::exchange(kind.last, sight);
  const double spent_cpus = CostOfLook(elapsed_ns, spent_ns);
  session::PeriodFactors factors;
  if (begins) {
    kind.governor.Reset();
  } else {
    factors = kind.governor.Look(spent_cpus, OffCpuShare(before.own, sight.own), sight.budget,
                                 elapsed_ns < kLookNs);
  }
  SamplingStanding& standing = kind.standing;
  const session::PeriodFactors were = std::exchange(standing.factors, factors);
  if (were.on_cpu != factors.on_cpu) ++standing.on_cpu_changes;
  if (were.off_cpu != factors.off_cpu) ++standing.off_cpu_changes;
  standing.budget = sight.budget;
  if (!begins)
    standing.spent_cpus = sight.budget.limited ? kind.governor.smoothed_cpus() : spent_cpus;
  return were != factors;
}

void BudgetKeeper::LookAtClocks(const session::BudgetReading& reading, std::uint64_t now_ns) {
  const std::uint64_t elapsed_ns = now_ns - clocks_looked_ns_;
  if (elapsed_ns < kLookNs) return;
  clocks_looked_ns_ = now_ns;
  const std::uint64_t clock_before_ns = std::exchange(clock_ns_, reading.clock_ns);
  const std::uint64_t switches_before = std::exchange(switches_, reading.switches);
  const bool before = clock_limit_.standing().kernel_books;
  // Made of two counters that are not read at one instant: it may go back.
  const std::uint64_t clock_ns = reading.clock_ns - std::min(reading.clock_ns, clock_before_ns);
  const bool books = clock_limit_.Look(clock_ns, reading.switches - switches_before, elapsed_ns);
  if (books != before && !control_.UseKernelBooks(books)) clock_limit_.GiveUp();
  const std::scoped_lock lock(mutex_);
  standing_.clock = clock_limit_.standing();
}

}  // namespace profd::budget
