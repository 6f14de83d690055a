#include "daemon/health/governor.h"

#include <algorithm>

namespace profd::health {
namespace {

constexpr unsigned kCpusOfUnit = 8;
constexpr double kSmoothing = 0.5;    // share of the newest look
constexpr double kMostAtOnce = 8;     // one look raises by no more than this ...
constexpr double kLeastAtOnce = 0.5;  // ... and lowers by no more
// Below this share of the budget periods may come down, to where the cost is expected at `kAim`. As
// kCalm / kAim < 1, lowering alone never leads over the budget.
constexpr double kCalm = 0.6;
constexpr double kAim = 0.85;

}  // namespace

double BudgetUnits(unsigned cpus) { return std::max(1.0, static_cast<double>(cpus) / kCpusOfUnit); }

source::PeriodFactors Governor::Look(double spent_cpus, const source::SamplingBudget& budget) {
  if (!budget.limited) {
    Reset();
    return factors_;
  }
  smoothed_ = looked_ ? smoothed_ + kSmoothing * (spent_cpus - smoothed_) : spent_cpus;
  looked_ = true;
  if (smoothed_ > budget.cpus) {
    calm_ = 0;
    const double by = std::min(smoothed_ / (kAim * budget.cpus), kMostAtOnce);
    Raise(by, budget.on_cpu_adjusts);
    // What the next looks will see, as far as this goes: the same excess is not answered twice.
    smoothed_ /= by;
  } else if (smoothed_ >= kCalm * budget.cpus) {
    calm_ = 0;
  } else if (++calm_ >= kCalmLooks) {
    calm_ = 0;
    Lower(std::max(smoothed_ / (kAim * budget.cpus), kLeastAtOnce));
  }
  return factors_;
}

void Governor::Reset() {
  factors_ = {};
  smoothed_ = 0;
  looked_ = false;
  calm_ = 0;
}

void Governor::Raise(double by, bool on_cpu_adjusts) {
  const double wanted = factors_.off_cpu * by;
  factors_.off_cpu = std::min(wanted, kMostOffCpu);
  if (on_cpu_adjusts && wanted > kMostOffCpu)
    factors_.on_cpu = std::min(factors_.on_cpu * wanted / kMostOffCpu, kMostOnCpu);
}

void Governor::Lower(double by) {
  double& factor = factors_.on_cpu > 1 ? factors_.on_cpu : factors_.off_cpu;
  factor = std::max(1.0, factor * by);
}

}  // namespace profd::health
