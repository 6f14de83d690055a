#include "daemon/budget/cpu/period_controller.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace profd::budget {
namespace {

constexpr unsigned kCpusOfUnit = 8;
constexpr double kSmoothing = 0.5;    // share of the newest whole measurement
constexpr double kMostAtOnce = 8;     // one update raises by no more than this ...
constexpr double kLeastAtOnce = 0.5;  // ... and lowers by no more
// Below kCalm of the budget periods may come down, to where the expected cost is kAim of it.
// Because kCalm / kAim < 1, lowering alone never exceeds the budget.
constexpr double kCalm = 0.6;
constexpr double kAim = 0.85;

// Multiplies the factor within [1, most]; returns the effective multiplier.
double Multiply(double& factor, double by, double most) {
  const double before = std::exchange(factor, std::clamp(factor * by, 1.0, most));
  return factor / before;
}

double MostOffCpu(const session::SamplingBudget& budget) {
  if (budget.most_off_cpu_factor == 0) return PeriodController::kMostOffCpu;
  return std::clamp(budget.most_off_cpu_factor, 1.0, PeriodController::kMostOffCpu);
}

// The power of two that is not below it.
double Doublings(double by) { return std::exp2(std::ceil(std::log2(by))); }

}  // namespace

double BudgetUnits(unsigned cpus) { return std::max(1.0, static_cast<double>(cpus) / kCpusOfUnit); }

session::PeriodFactors PeriodController::Update(double spent_cpus, double off_cpu_share,
                                                const session::SamplingBudget& budget, bool early) {
  if (!budget.limited) {
    Reset();
    return factors_;
  }
  const double newest = early || !updated_ ? 1 : kSmoothing;
  smoothed_ += newest * (spent_cpus - smoothed_);
  off_cpu_share_ += newest * (off_cpu_share - off_cpu_share_);
  updated_ = true;
  if (smoothed_ > budget.cpus) {
    calm_ticks_ = 0;
    // From now on the expected cost counts, so that one excess does not raise the periods twice.
    smoothed_ = Raise(budget);
  } else if (smoothed_ >= kCalm * budget.cpus) {
    calm_ticks_ = 0;
  } else if (++calm_ticks_ >= kCalmTicks) {
    calm_ticks_ = 0;
    Lower(kAim * budget.cpus);
  }
  return factors_;
}

void PeriodController::Reset() {
  factors_ = {};
  smoothed_ = 0;
  off_cpu_share_ = 1;
  updated_ = false;
  calm_ticks_ = 0;
}

double PeriodController::Raise(const session::SamplingBudget& budget) {
  const double aim = kAim * budget.cpus;
  double off_cpu = smoothed_ * off_cpu_share_;
  double on_cpu = smoothed_ - off_cpu;
  const double off_cpu_aim = std::max(aim - on_cpu, kOffCpuShare * aim);
  // Where on-CPU samples alone cost too much, off-CPU periods come down if that is in the aim.
  const double by = Doublings(std::clamp(off_cpu / off_cpu_aim, kLeastAtOnce, kMostAtOnce));
  const double most = MostOffCpu(budget);
  off_cpu /= Multiply(factors_.off_cpu, by, most);
  // On-CPU periods follow only when off-CPU periods cannot do it alone.
  if (budget.on_cpu_adjusts && (by < kMostAtOnce || factors_.off_cpu >= most)) {
    const double on_cpu_aim = aim - std::min(off_cpu, kOffCpuShare * aim);
    const double on_cpu_by = std::clamp(on_cpu / on_cpu_aim, 1.0, kMostAtOnce);
    on_cpu /= Multiply(factors_.on_cpu, on_cpu_by, kMostOnCpu);
  }
  off_cpu_share_ = off_cpu / (off_cpu + on_cpu);
  return off_cpu + on_cpu;
}

void PeriodController::Lower(double aim) {
  if (factors_.on_cpu > 1)
    factors_.on_cpu = std::max(1.0, factors_.on_cpu * std::max(smoothed_ / aim, kLeastAtOnce));
  else if (smoothed_ * (1 + off_cpu_share_) <= aim)
    factors_.off_cpu = std::max(1.0, factors_.off_cpu / 2);
}

}  // namespace profd::budget
