// ClockLimit: when thread clocks cost so much that kernel accounting replaces them.
#pragma once

#include <cstdint>

namespace profd::budget {

// What clocks may cost, what they cost, and what is done about it.
struct ClockStatus {
  double limit_cpus = 0;  // 0: none
  double spent_cpus = 0;  // recently
  bool kernel_accounting = false;
};

// A law and nothing else: told from time to time what clocks have cost since the last look, it says
// whether kernel accounting is used. At once above the limit; clocks come back when, at
// what a switch cost before, they would take less than kReturn of the limit for kCalmLooks in turn.
// Used by one thread.
class ClockLimit {
 public:
  static constexpr double kReturn = 0.5;
  static constexpr int kCalmLooks = 40;

  // `limit_cpus`: 0: none.
  explicit ClockLimit(double limit_cpus) : limit_cpus_(limit_cpus) {}

  // Over `elapsed_ns`; must not be 0.
  [[nodiscard]] bool Look(std::uint64_t clock_ns, std::uint64_t switches, std::uint64_t elapsed_ns);
  // There is no kernel accounting.
  void GiveUp() { limit_cpus_ = 0; }
  [[nodiscard]] ClockStatus status() const {
    return {limit_cpus_, smoothed_cpus_, kernel_accounting_};
  }

 private:
  double limit_cpus_;
  double smoothed_cpus_ = 0;
  double switch_ns_ = 0;  // what a switch cost, when kernel accounting took over
  bool kernel_accounting_ = false;
  int calm_ = 0;
};

}  // namespace profd::budget
