#include "daemon/aggregate/scaling.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace profd::aggregate {
namespace {

__extension__ using Wide = unsigned __int128;

struct Remainder {
  Wide part = 0;  // of 1 ns, in units of 1/sum
  std::size_t index = 0;
};

// Shares `total` among the samples whose exactness is `exact`, by raw weight; `sum` is theirs.
void Apportion(std::span<WeightedSample> samples, bool exact, Wide sum, std::uint64_t total) {
  std::vector<Remainder> remainders;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].exact != exact) continue;
    const Wide share = static_cast<Wide>(samples[i].raw_weight_ns) * total;
    samples[i].weight_ns = static_cast<std::uint64_t>(share / sum);
    given += samples[i].weight_ns;
    remainders.push_back({share % sum, i});
  }
  // Each share was rounded down by less than 1 ns, so fewer ns than samples are left.
  const auto left = static_cast<std::ptrdiff_t>(total - given);
  const auto larger = [](const Remainder& a, const Remainder& b) {
    return a.part != b.part ? a.part > b.part : a.index < b.index;
  };
  std::nth_element(remainders.begin(), remainders.begin() + left, remainders.end(), larger);
  for (std::ptrdiff_t i = 0; i < left; ++i)
    ++samples[remainders[static_cast<std::size_t>(i)].index].weight_ns;
}

}  // namespace

std::uint64_t ScaleToClock(std::span<WeightedSample> samples, std::uint64_t clock_ns) {
  Wide exact_sum = 0;
  Wide other_sum = 0;
  for (auto& sample : samples) {
    (sample.exact ? exact_sum : other_sum) += sample.raw_weight_ns;
    sample.weight_ns = sample.exact ? sample.raw_weight_ns : 0;
  }
  if (exact_sum > clock_ns) {
    Apportion(samples, true, exact_sum, clock_ns);
    return 0;
  }
  const auto left = clock_ns - static_cast<std::uint64_t>(exact_sum);
  if (other_sum == 0) return left;
  Apportion(samples, false, other_sum, left);
  return 0;
}

}  // namespace profd::aggregate
