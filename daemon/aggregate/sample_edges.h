// The edges of a profile's samples, and what they weigh: sampling_error.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/aggregate/weights/sampling_error.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {

// The threads as they were sampled: before some of them became groups.
struct SampledThreads {
  struct One {
    ThreadKey key;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    bool grouped = false;
  };
  std::vector<One> threads;
  std::vector<std::uint32_t> of_sample;  // index into `threads`, for each sample of the profile
};

// A sampled part of a wait: the index of its sample, and its points. The row is not set.
struct SampledWait {
  std::uint32_t sample = 0;
  PointRun run;
};

// Sets `edges` of the samples and `edge_factors` of the threads of a requested session.
// `seed`: of the sampling points. Samples on the CPU are points of their thread. Their stacks are
// compared by their nodes. A thread that has a clock of its own cannot be elsewhere at the ends
// of its life; a point that misses a member of a group moves weight to the others.
void FindEdges(Profile& profile, std::span<const SampledWait> waits, const SampledThreads& sampled,
               std::uint64_t seed);

}  // namespace profd::aggregate
