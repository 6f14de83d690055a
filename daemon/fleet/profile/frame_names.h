// FrameNames: what frames and rows without a stack are called outside of the host.
#pragma once

#include <string>

#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// The function of a frame: its name, else its place in its file.
[[nodiscard]] std::string FunctionName(const symbolize::Frame& frame);
// In words of the function's receiver: "[stolen]", "[no stack]"; "" where there is a stack.
[[nodiscard]] std::string PseudoStack(const ExportRow& row);

}  // namespace profd::fleet
