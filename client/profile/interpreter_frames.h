// Frames of interpreters themselves, which say little beside the frames of what they run.
#pragma once

#include <optional>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// The profile without them: what was above such a frame stands on what was below it. Nothing when
// there are none. `profile` may come from a file: one that CheckProfile would refuse is nothing to
// change.
[[nodiscard]] std::optional<v1::Profile> WithoutInterpreterFrames(const v1::Profile& profile);

}  // namespace profd::client
