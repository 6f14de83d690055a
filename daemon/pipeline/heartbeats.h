// Heartbeats: when each stage of the pipeline last made a round, and which is stuck.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "daemon/base/counter.h"

namespace profd::pipeline {

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

// How long a round may take: half of the watchdog's time in profd.service.
inline constexpr std::uint64_t kStuckNs = 30'000'000'000;

// Which stage has made no round for kStuckNs, or none at all: "symbolizer: no round for 31 s"; ""
// when all go on.
[[nodiscard]] std::string StuckStage(const Heartbeats& beats, std::uint64_t now_ns);

}  // namespace profd::pipeline
