// SpinCause: why the threads of parallel regions spin, inferred.
#pragma once

#include <cstdint>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// Parts of the spinning time of a thread; what is left of it has another cause, or is not known.
// The words are those of Intel VTune.
struct SpinCause {
  std::uint64_t serial_ns = 0;     // a worker, while no thread of its process leads a region
  std::uint64_t imbalance_ns = 0;  // inside a region: others still work in it

  void operator+=(const SpinCause& other);
};

// By thread of the profile, which has passed CheckProfile. What the leaders of regions do at the
// time of a worker's sample is what RegionLeaders says.
[[nodiscard]] std::vector<SpinCause> SpinCausesOf(const v1::Profile& profile);

}  // namespace profd::client
