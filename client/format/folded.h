// folded: `frame;frame;frame weight`, root first, a line per distinct stack, sorted by frames.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/format/exporter.h"

namespace profd::client {

// Weights are whole microseconds in wall and off-CPU profiles and samples in on-CPU ones, as the
// flame graph tools know them. They add up to the rounded total: what rounding leaves over goes to
// the stacks that lost most by it. A stack that comes to 0 has no line. No header: flamegraph.pl
// would take one for a stack.
[[nodiscard]] Exporter FoldedExporter();

// Rounds each value to a multiple of `unit` and divides by it, so that the results add up to the
// sum of the values divided by `unit`, rounded half up. The first of equals gets what is left.
[[nodiscard]] std::vector<std::uint64_t> RoundToSum(std::span<const std::uint64_t> values,
                                                    std::uint64_t unit);

}  // namespace profd::client
