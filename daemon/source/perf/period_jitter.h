// PeriodJitter: draws the periods of the on-CPU events, so that sampling never locks step with a
// program's own timer.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

namespace profd::source {

// Each drawn period holds until the next draw, one interval later. Setting a period restarts the
// event's timer (the kernel drops what had passed of the running one), so:
// - Intervals are many periods long (kPeriodsPerInterval), else slow rates would never fire.
// - Where samples fall does not depend on what the program does: the restarts are random too.
// - Mean rate. A period P is drawn from U(0.5, 1.5) * p * c, an interval I has mean D, and it holds
//   floor(I / P) samples: on average D * E[1/P] - 1/2 = D * ln(3) / (p * c) - 1/2. The factor c
//   makes that D / p: c = ln(3) / (1 + p / (2 * D)).
// Not thread-safe.
class PeriodJitter {
 public:
  explicit PeriodJitter(std::uint64_t seed) : random_(seed) {}

  // `nominal_ns`: mean time between samples to come out.
  [[nodiscard]] std::uint64_t DrawPeriodNs(std::uint64_t nominal_ns);
  // Time until the next draw: uniform in 0.5 to 1.5 of MeanInterval.
  [[nodiscard]] std::chrono::nanoseconds DrawInterval(std::uint64_t nominal_ns);

  [[nodiscard]] static std::chrono::nanoseconds MeanInterval(std::uint64_t nominal_ns);

 private:
  static constexpr std::uint64_t kPeriodsPerInterval = 5;
  static constexpr std::chrono::nanoseconds kShortestInterval = std::chrono::milliseconds(50);

  std::mt19937_64 random_;
};

}  // namespace profd::source
