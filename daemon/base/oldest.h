// Oldest: which entries of a full table go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace profd {

// A tenth of the entries was last used at this time or before; of one time there may be more than
// that. Many go at a time: looking for the oldest one costs as much. `times` must not be empty.
[[nodiscard]] inline std::uint64_t OldestTenth(std::vector<std::uint64_t> times) {
  const auto tenth = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
  std::ranges::nth_element(times, tenth);
  return *tenth;
}

}  // namespace profd
