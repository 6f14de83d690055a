// SymbolizedSample: a Sample whose frames have names. Fourth hand-off.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/process/sample.h"

namespace profd::symbolize {

// Index into the FrameTable that made it.
using FrameId = std::uint32_t;

struct SymbolizedSample {
  process::Sample sample;       // its `frames` are moved out: empty
  std::vector<FrameId> frames;  // leaf first; scheduler frames above the wait are trimmed
  // Index of the first that was found by frame pointer where no unwind rule was known.
  std::optional<std::uint32_t> uncertain_from;
};

}  // namespace profd::symbolize
