#include "daemon/budget/governor.h"

#include <algorithm>
#include <utility>

namespace profd::budget {
namespace {

constexpr unsigned kCpusOfUnit = 8;
constexpr double kSmoothing = 0.5;    // share of the newest whole look
constexpr double kMostAtOnce = 8;     // one look raises by no more than this ...
constexpr double kLeastAtOnce = 0.5;  // ... and lowers by no more
// Where on-CPU samples alone are too many, off-CPU ones come back when they cost less than this of
// what they may.
constexpr double kKept = 0.5;
// Below this share of the budget periods may come down, to where the cost is expected at `kAim`. As
// kCalm / kAim < 1, lowering alone never leads over the budget.
constexpr double kCalm = 0.6;
constexpr double kAim = 0.85;

// By how much it is really multiplied; it stays within [1, most].
double Multiply(double& factor, double by, double most) {
  const double before = std::exchange(factor, std::clamp(factor * by, 1.0, most));
  return factor / before;
}

}  // namespace

std::uint64_t SpentOnSamples(std::uint64_t stages_ns, std::uint64_t samples) {
  return samples > stages_ns / kMostPerSampleNs ? stages_ns : samples * kMostPerSampleNs;
}

bool IsLookOver(std::uint64_t elapsed_ns, std::uint64_t spent_ns,
                const session::SamplingBudget& budget) {
  return elapsed_ns >= kLookNs || (budget.limited && CostOfLook(kLookNs, spent_ns) > budget.cpus);
}

double CostOfLook(std::uint64_t elapsed_ns, std::uint64_t spent_ns) {
  return static_cast<double>(spent_ns) / static_cast<double>(std::max(elapsed_ns, kLookNs));
}

double BudgetUnits(unsigned cpus) { return std::max(1.0, static_cast<double>(cpus) / kCpusOfUnit); }

session::PeriodFactors Governor::Look(double spent_cpus, double off_cpu_share,
                                      const session::SamplingBudget& budget, bool early) {
  if (!budget.limited) {
    Reset();
    return factors_;
  }
  const double newest = early || !looked_ ? 1 : kSmoothing;
  smoothed_ += newest * (spent_cpus - smoothed_);
  share_ += newest * (off_cpu_share - share_);
  looked_ = true;
  if (smoothed_ > budget.cpus) {
    calm_ = 0;
    // What the next looks will see, as far as this goes: the same excess is not answered twice.
    smoothed_ = Raise(budget);
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
  share_ = 1;
  looked_ = false;
  calm_ = 0;
}

double Governor::Raise(const session::SamplingBudget& budget) {
  const double aim = kAim * budget.cpus;
  double off_cpu = smoothed_ * share_;
  double on_cpu = smoothed_ - off_cpu;
  const double off_cpu_aim = std::max(aim - on_cpu, kOffCpuShare * aim);
  double by = std::clamp(off_cpu / off_cpu_aim, kLeastAtOnce, kMostAtOnce);
  if (by > kKept && by < 1) by = 1;
  off_cpu /= Multiply(factors_.off_cpu, by, kMostOffCpu);
  if (budget.on_cpu_adjusts && (by < kMostAtOnce || factors_.off_cpu == kMostOffCpu)) {
    const double on_cpu_aim = aim - std::min(off_cpu, kOffCpuShare * aim);
    const double on_cpu_by = std::clamp(on_cpu / on_cpu_aim, 1.0, kMostAtOnce);
    on_cpu /= Multiply(factors_.on_cpu, on_cpu_by, kMostOnCpu);
  }
  share_ = off_cpu / (off_cpu + on_cpu);
  return off_cpu + on_cpu;
}

void Governor::Lower(double by) {
  double& factor = factors_.on_cpu > 1 ? factors_.on_cpu : factors_.off_cpu;
  factor = std::max(1.0, factor * by);
}

}  // namespace profd::budget
