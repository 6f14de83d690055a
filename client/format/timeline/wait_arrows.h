// WaitArrows: from who ended a wait to the waiter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/format/timeline/timeline.h"

namespace profd::client {

struct WaitArrow {
  std::size_t from = 0;       // index into Timeline.tracks: who ended it
  std::size_t to = 0;         // the same: who waited
  std::uint64_t time_ns = 0;  // the last ns of the wait
};

// Of each wait whose end is known, if the thread that ended it is in the profile, alone in its
// track, and has an interval at that instant. By waiter, in order of time. The profile has passed
// CheckProfile, and the timeline is its.
[[nodiscard]] std::vector<WaitArrow> WaitArrows(const v1::Profile& profile,
                                                const Timeline& timeline);

}  // namespace profd::client
