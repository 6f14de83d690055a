// Scaling: makes the samples of one thread and state add up to its exact clock, to the ns.
#pragma once

#include <cstdint>
#include <span>

namespace profd::aggregate {

struct WeightedSample {
  std::uint64_t raw_weight_ns = 0;
  bool exact = false;           // a measured duration
  std::uint64_t weight_ns = 0;  // the result
};

// Exact ones keep their weight; the others share, in proportion to their raw weights, what the
// clock leaves. Where the exact ones alone exceed the clock they are scaled down to it and the
// others get nothing. Whole ns by largest remainder, ties to the earlier sample. Returns the ns of
// the clock for which there is no sample: then the sum of weights plus this equals `clock_ns`,
// always.
[[nodiscard]] std::uint64_t ScaleToClock(std::span<WeightedSample> samples, std::uint64_t clock_ns);

}  // namespace profd::aggregate
