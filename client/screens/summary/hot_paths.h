// HotPaths: where a thread's time goes, as a handful of call paths that do not overlap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "client/profile/on_whom.h"
#include "client/profile/share_error.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Time spent in stacks of one state (and wait reason) that begin with `frames`.
struct HotPath {
  v1::State state = v1::STATE_ON_CPU;
  v1::WaitReason wait = v1::WAIT_NONE;
  bool spinning = false;            // of time on a CPU
  std::vector<std::string> frames;  // root first, safe text; empty: none in common
  std::vector<bool> python;         // of each frame
  std::size_t fork = 0;  // index of the last frame that all paths of the thread go through
  bool goes_on = false;  // most of this time is in frames further down
  std::uint64_t ns = 0;
  std::uint64_t points = 0;    // samples that it rests on
  std::uint64_t exact_ns = 0;  // part that was measured, not sampled
  ErrorSum error;              // of ns
};

// At most `limit` paths, heaviest first, of the samples of `threads` (indexes into
// Profile.threads). A path goes down as long as nearly all of its time does; where time splits up,
// the heaviest path is taken apart first, until there are `limit`. Paths below a hundredth of the
// time are left out. What waiting threads do inside the kernel is one frame, named like the system
// call. What spins ends at the frame that says so. The profile must have passed CheckProfile.
[[nodiscard]] std::vector<HotPath> HotPaths(const v1::Profile& profile,
                                            std::span<const std::uint32_t> threads,
                                            std::size_t limit);

// The one path that most of these stacks have in common; its frames are empty where there is none.
[[nodiscard]] HotPath CommonPath(const v1::Profile& profile,
                                 std::span<const WhomRow::Stack> stacks);

// "caller > callee > ... > callee" in at most `width` columns (or 6, if that is more). When the
// whole does not fit, callers that all paths have in common go first, then what libraries call
// inside themselves, then the middle, but not the innermost Python frame. Frames that every thread
// starts with (_start, start_thread) are not shown.
[[nodiscard]] std::string PathText(const HotPath& path, std::size_t width);

}  // namespace profd::client
