#include "daemon/budget/cpu/clock_controller.h"

namespace profd::budget {
namespace {

constexpr double kSmoothing = 0.5;  // share of the newest measurement
// Fewer say little about the price of a switch: one run in PROFD_COST_SAMPLING times itself.
constexpr std::uint64_t kFewSwitches = 6'400;

}  // namespace

bool ClockController::Update(const Growth& growth) {
  const auto elapsed = static_cast<double>(growth.elapsed_ns);
  const auto clock_ns = static_cast<double>(growth.clock_ns);
  if (growth.switches >= kFewSwitches) switch_ns_ = clock_ns / static_cast<double>(growth.switches);
  const double needed = switch_ns_ * static_cast<double>(growth.host_switches) / elapsed;
  status_.spent_cpus += kSmoothing * (clock_ns / elapsed - status_.spent_cpus);
  status_.needed_cpus += kSmoothing * (needed - status_.needed_cpus);
  if (status_.limit_cpus <= 0) return false;
  if (!status_.hooks_refused) {
    status_.hooks_refused = status_.needed_cpus > status_.limit_cpus;
    calm_ticks_ = 0;
  } else {
    calm_ticks_ = needed < kReturn * status_.limit_cpus ? calm_ticks_ + 1 : 0;
    status_.hooks_refused = calm_ticks_ < kCalmTicks;
  }
  return status_.hooks_refused;
}

}  // namespace profd::budget
