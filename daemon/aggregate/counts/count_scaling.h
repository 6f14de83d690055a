// Shares the hardware counts of a thread among its samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/aggregate/counts/hardware_counts.h"

namespace profd::aggregate {

struct CountedSample {
  HardwareCounts counts{};      // as sampled; 0: nothing was counted for it
  std::uint64_t weight_ns = 0;  // its part of the time on a CPU
};

// Makes the counts of the samples add up to `whole`, each number by itself: in proportion to what
// was sampled, where none of it was to the time that the samples cover, and where that is 0 to
// their weights. Samples without weights and counts keep zeros.
void ShareCounts(const HardwareCounts& whole, std::span<CountedSample> samples);

}  // namespace profd::aggregate
