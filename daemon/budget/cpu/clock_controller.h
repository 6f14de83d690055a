// ClockController: when kernel accounting replaces thread clocks, because these cost too much.
#pragma once

#include <cstdint>

namespace profd::budget {

// What thread clocks may cost, what they cost, and whether kernel accounting replaces them.
struct ClockStatus {
  double limit_cpus = 0;  // 0: none
  double spent_cpus = 0;  // recently
  bool kernel_accounting = false;
};

// Job: the control law for thread clocks. It reads no clock and no counter. Kernel accounting
// starts at once when clocks cost more than the limit. Clocks come back when kCalmTicks updates in
// turn expect them to cost less than kReturn of the limit, at the price of a switch before.
// Thread: one. Owner: CpuController.
class ClockController {
 public:
  static constexpr double kReturn = 0.5;
  static constexpr int kCalmTicks = 40;

  // `limit_cpus`: 0: no limit.
  explicit ClockController(double limit_cpus) : limit_cpus_(limit_cpus) {}

  // Cost and number of switches since the last update, `elapsed_ns` ago, which must not be 0.
  // True: kernel accounting is to be used.
  [[nodiscard]] bool Update(std::uint64_t clock_ns, std::uint64_t switches,
                            std::uint64_t elapsed_ns);
  // This kernel has no kernel accounting: there is no limit any more.
  void Disable() {
    limit_cpus_ = 0;
    kernel_accounting_ = false;
  }
  [[nodiscard]] ClockStatus status() const {
    return {limit_cpus_, smoothed_cpus_, kernel_accounting_};
  }

 private:
  double limit_cpus_;
  double smoothed_cpus_ = 0;
  double switch_ns_ = 0;  // the cost of a switch when kernel accounting started
  bool kernel_accounting_ = false;
  int calm_ticks_ = 0;
};

}  // namespace profd::budget
