#include "daemon/budget/cpu/clock_controller.h"

#include <algorithm>

namespace profd::budget {
namespace {

constexpr double kSmoothing = 0.5;  // share of the newest measurement

}  // namespace

bool ClockController::Update(std::uint64_t clock_ns, std::uint64_t switches,
                             std::uint64_t elapsed_ns) {
  const auto elapsed = static_cast<double>(elapsed_ns);
  const double cpus = static_cast<double>(clock_ns) / elapsed;
  smoothed_cpus_ += kSmoothing * (cpus - smoothed_cpus_);
  if (limit_cpus_ <= 0) {
    kernel_accounting_ = false;
  } else if (!kernel_accounting_) {
    if (smoothed_cpus_ <= limit_cpus_ || switches == 0) return false;
    kernel_accounting_ = true;
    calm_ticks_ = 0;
    switch_ns_ = static_cast<double>(clock_ns) / static_cast<double>(switches);
  } else {
    // With kernel accounting the hooks cost less than with clocks, so the measured cost is too low.
    const double expected = std::max(cpus, switch_ns_ * static_cast<double>(switches) / elapsed);
    calm_ticks_ = expected < kReturn * limit_cpus_ ? calm_ticks_ + 1 : 0;
    if (calm_ticks_ >= kCalmTicks) kernel_accounting_ = false;
  }
  return kernel_accounting_;
}

}  // namespace profd::budget
