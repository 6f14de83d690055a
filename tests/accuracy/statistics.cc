#include "tests/accuracy/statistics.h"

#include <algorithm>
#include <cmath>

namespace profd::accuracy {

void Weights::Add(std::uint64_t weight_ns, std::uint32_t count) {
  if (count == 0) return;
  const auto weight = static_cast<double>(weight_ns);
  sum += weight;
  sum_of_squares += weight * weight / count;
}

double Weights::EffectiveSamples() const {
  return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}

double ShareBound(double true_share, double effective_samples, double chance) {
  if (effective_samples <= 0) return 1;
  const double variance = std::max(0.0, true_share * (1 - true_share));
  // n e^2 - (2/3) L e - 2 L variance = 0 with L = ln(2 / chance).
  const double scale = std::log(2 / chance) / effective_samples;
  return std::min(1.0, scale / 3 + std::sqrt(scale * scale / 9 + 2 * scale * variance));
}

}  // namespace profd::accuracy
