// Governor: how much longer the periods of samples must be, for sampling to stay in its budget.
#pragma once

#include <cstdint>

#include "daemon/budget/clock_limit.h"
#include "daemon/session/session_control.h"

namespace profd::budget {

// What sampling for sessions of one kind may cost, what it costs, and what is done about it.
struct SamplingStatus {
  session::SamplingBudget budget;
  session::PeriodFactors factors;
  double spent_cpus = 0;  // recently
  // How often each factor was changed.
  std::uint64_t on_cpu_changes = 0;
  std::uint64_t off_cpu_changes = 0;
};

// The same of all of profd's work for threads.
struct BudgetStatus {
  session::PerKind<SamplingStatus> sampling;
  ClockStatus clock;
};

// No sample takes the stages longer, with a wide margin: 20 to 60 us were seen.
inline constexpr std::uint64_t kMostPerSampleNs = 250'000;
// How much of what the stages have spent went into so many samples. The rest was for processes that
// began, and what else does not become less with longer periods.
[[nodiscard]] std::uint64_t SpentOnSamples(std::uint64_t stages_ns, std::uint64_t samples);

// How long a look takes. One that has cost more than all of it may cost ends at once.
inline constexpr std::uint64_t kLookNs = 250'000'000;
[[nodiscard]] bool IsLookOver(std::uint64_t elapsed_ns, std::uint64_t spent_ns,
                              const session::SamplingBudget& budget);
// Its mean cost, in CPUs; of one that ends early, what it would be if nothing more were spent.
[[nodiscard]] double CostOfLook(std::uint64_t elapsed_ns, std::uint64_t spent_ns);

// What a host's budget is a multiple of: one for every 8 CPUs, at least one.
[[nodiscard]] double BudgetUnits(unsigned cpus);

// A control law and nothing else: told from time to time what sampling has cost since the last
// look, it says by which factors periods are to be raised. Off-CPU periods go first, and come down
// last; where on-CPU samples alone cost more than the budget, off-CPU ones keep kOffCpuShare of it,
// as fewer of them would help nobody. Raises at once, lowers after kCalmLooks looks well below the
// budget and by little: it does not swing while the load stays the same. Used by one thread.
class Governor {
 public:
  static constexpr double kMostOffCpu = 256;  // factors never exceed these
  static constexpr double kMostOnCpu = 16;
  static constexpr int kCalmLooks = 4;
  static constexpr double kOffCpuShare = 0.25;

  // `spent_cpus`: CostOfLook. `off_cpu_share`: of the samples since the last look, those taken off
  // the CPU, 0 to 1; samples of both kinds are taken to cost the same. `early`: the look ended
  // early, and is believed as it is.
  [[nodiscard]] session::PeriodFactors Look(double spent_cpus, double off_cpu_share,
                                            const session::SamplingBudget& budget,
                                            bool early = false);
  // The cost that it acts on: smoothed over a few looks.
  [[nodiscard]] double smoothed_cpus() const { return smoothed_; }
  // A session has begun: periods are what they ask for again.
  void Reset();

 private:
  // What the cost is expected to be after it.
  [[nodiscard]] double Raise(const session::SamplingBudget& budget);
  void Lower(double by);

  session::PeriodFactors factors_;
  double smoothed_ = 0;
  double share_ = 1;  // of off-CPU samples, smoothed
  bool looked_ = false;
  int calm_ = 0;
};

}  // namespace profd::budget
