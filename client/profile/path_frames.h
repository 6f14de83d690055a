// PathFrames: a path as the frames that stand behind the state of a blocked stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/profile/options.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct PathFrame {
  std::string name;         // safe, in brackets but for "--", which comes first
  std::uint32_t stack = 0;  // node whose stack follows, root first; 0: none
};

// "--", "[waits for engine-worker]", "[runs]": from the waiter outwards, then the end, which is
// "[runs ~]" where the stack before it is an estimate. By kSteps threads of one name that stand in
// one queue are one frame, by kStacks each has its own. `pid` is that of the waiter, 0 of several.
// Empty for path 0 and kNone. The profile must have passed CheckProfile.
[[nodiscard]] std::vector<PathFrame> PathFramesOf(const v1::Profile& profile, std::uint32_t path,
                                                  std::uint32_t pid, PathDetail detail);

}  // namespace profd::client
