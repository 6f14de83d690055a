// ClockController: when sessions begin in snapshot mode, because exact thread clocks cost too much.
#pragma once

#include <cstdint>

namespace profd::budget {

// What the hooks that keep thread clocks may cost, what they cost or would cost, and whether
// sessions begin without them. In CPUs.
struct ClockStatus {
  double limit_cpus = 0;   // 0: none
  double spent_cpus = 0;   // recently
  double needed_cpus = 0;  // the same, or what they would cost if they were attached
  bool hooks_refused = false;
};

// Job: the control law for thread clocks. It reads no clock and no counter. Hooks are refused when
// they need more than the limit. They are allowed again when kCalmTicks updates in turn expect them
// to need less than kReturn of it. While none is attached, the switches of the host say what they
// would need, at the last known price of a switch.
// Thread: one. Owner: CpuController.
class ClockController {
 public:
  static constexpr double kReturn = 0.5;
  static constexpr int kCalmTicks = 10;
  // Of a switch, before any was measured.
  static constexpr double kUsualNs = 200;

  // Since the last update.
  struct Growth {
    std::uint64_t elapsed_ns = 0;     // not 0
    std::uint64_t clock_ns = 0;       // spent in hooks, samples apart
    std::uint64_t switches = 0;       // that hooks have seen
    std::uint64_t host_switches = 0;  // of all CPUs
  };

  // `limit_cpus`: 0: no limit.
  explicit ClockController(double limit_cpus) : status_{.limit_cpus = limit_cpus} {}

  // True: sessions are to begin without hooks.
  [[nodiscard]] bool Update(const Growth& growth);
  // This host has no snapshot mode: there is no limit any more.
  void Disable() {
    status_.limit_cpus = 0;
    status_.hooks_refused = false;
  }
  [[nodiscard]] const ClockStatus& status() const { return status_; }

 private:
  double switch_ns_ = kUsualNs;
  int calm_ticks_ = 0;
  ClockStatus status_;
};

}  // namespace profd::budget
