// Heartbeats: when each stage of the pipeline last made a round.
#pragma once

#include <algorithm>
#include <cstdint>

#include "daemon/base/counter.h"

namespace profd::health {

// CLOCK_MONOTONIC ns, 0 before the first round. A stage beats also when there is nothing to do,
// many times a second; one that is stuck does not. Each has one writer; any thread may read.
struct Heartbeats {
  Counter reader;
  Counter worker;
  Counter symbolizer;

  // Every stage has made a round since then.
  [[nodiscard]] std::uint64_t OldestNs() const {
    return std::min({reader.value(), worker.value(), symbolizer.value()});
  }
};

}  // namespace profd::health
