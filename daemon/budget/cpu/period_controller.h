// PeriodController: by which factors periods are raised, so that sampling stays in its budget.
#pragma once

#include "daemon/session/session_control.h"

namespace profd::budget {

// The unit of a host's budget: 1 for every 8 CPUs, and at least 1.
[[nodiscard]] double BudgetUnits(unsigned cpus);

// Job: the control law for the periods of samples. It reads no clock and no counter. Off-CPU
// periods are raised first and lowered last, each time to the double or the half, as the levels of
// sampling points have them. Where on-CPU samples alone cost more than the budget,
// off-CPU samples keep kOffCpuShare of it, because fewer of them would not help. It raises periods
// at once. It lowers them by little, after kCalmTicks updates well below the budget, so that they
// do not swing while the load stays the same.
// Thread: one. Owner: CpuController.
class PeriodController {
 public:
  static constexpr double kMostOffCpu = 256;  // factors never exceed these
  static constexpr double kMostOnCpu = 16;
  static constexpr int kCalmTicks = 4;
  static constexpr double kOffCpuShare = 0.25;

  // `spent_cpus`: mean cost since the last update, in CPUs. `off_cpu_share`: share of off-CPU
  // samples among the samples since then, 0 to 1; on-CPU and off-CPU samples count as equally
  // expensive. `early`: the measurement was shorter than usual because it cost too much; it is not
  // smoothed.
  [[nodiscard]] session::PeriodFactors Update(double spent_cpus, double off_cpu_share,
                                              const session::SamplingBudget& budget,
                                              bool early = false);
  // The cost on which it acts, smoothed over a few updates, in CPUs.
  [[nodiscard]] double smoothed_cpus() const { return smoothed_; }
  // A session has started: periods are the requested ones again.
  void Reset();

 private:
  // Returns the expected cost afterwards.
  [[nodiscard]] double Raise(const session::SamplingBudget& budget);
  // As far as the expected cost stays within `aim`.
  void Lower(double aim);

  session::PeriodFactors factors_;
  double smoothed_ = 0;
  double off_cpu_share_ = 1;  // smoothed
  bool updated_ = false;      // since the last reset
  int calm_ticks_ = 0;
};

}  // namespace profd::budget
