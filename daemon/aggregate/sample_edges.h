// The edges of a profile's samples, and what they weigh: sampling_error.h.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/weights/sampling_error.h"

namespace profd::aggregate {

// A sampled part of a wait: the index of its sample, and its points. The row is not set.
struct SampledWait {
  std::uint32_t sample = 0;
  PointRun run;
};

// Sets `edges` of the samples and `edge_factors` of the threads of a requested session in hook
// mode. `seed`: of the sampling points. Samples on the CPU are points of their thread. Their stacks
// are compared by their nodes.
void FindEdges(Profile& profile, std::span<const SampledWait> waits, std::uint64_t seed);

}  // namespace profd::aggregate
