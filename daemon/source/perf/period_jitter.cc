#include "daemon/source/perf/period_jitter.h"

#include <algorithm>
#include <cmath>

namespace profd::source {

std::chrono::nanoseconds PeriodJitter::MeanInterval(std::uint64_t nominal_ns) {
  const auto scaled = std::chrono::nanoseconds(nominal_ns * kPeriodsPerInterval);
  return std::max(scaled, kShortestInterval);
}

std::uint64_t PeriodJitter::DrawPeriodNs(std::uint64_t nominal_ns) {
  const auto nominal = static_cast<double>(nominal_ns);
  const auto interval = static_cast<double>(MeanInterval(nominal_ns).count());
  const double correction = std::log(3.0) / (1.0 + nominal / (2.0 * interval));
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  return static_cast<std::uint64_t>(nominal * correction * factor(random_));
}

std::chrono::nanoseconds PeriodJitter::DrawInterval(std::uint64_t nominal_ns) {
  const auto mean = static_cast<double>(MeanInterval(nominal_ns).count());
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(mean * factor(random_)));
}

}  // namespace profd::source
