#include "daemon/budget/clock_limit.h"

#include <algorithm>

namespace profd::budget {
namespace {

constexpr double kSmoothing = 0.5;  // share of the newest look

}  // namespace

bool ClockLimit::Look(std::uint64_t clock_ns, std::uint64_t switches, std::uint64_t elapsed_ns) {
  const auto elapsed = static_cast<double>(elapsed_ns);
  const double cpus = static_cast<double>(clock_ns) / elapsed;
  smoothed_cpus_ += kSmoothing * (cpus - smoothed_cpus_);
  if (limit_cpus_ <= 0) {
    kernel_accounting_ = false;
  } else if (!kernel_accounting_) {
    if (smoothed_cpus_ <= limit_cpus_ || switches == 0) return false;
    kernel_accounting_ = true;
    calm_ = 0;
    switch_ns_ = static_cast<double>(clock_ns) / static_cast<double>(switches);
  } else {
    // What the hooks still take is not what they would take.
    const double expected = std::max(cpus, switch_ns_ * static_cast<double>(switches) / elapsed);
    calm_ = expected < kReturn * limit_cpus_ ? calm_ + 1 : 0;
    if (calm_ >= kCalmLooks) kernel_accounting_ = false;
  }
  return kernel_accounting_;
}

}  // namespace profd::budget
