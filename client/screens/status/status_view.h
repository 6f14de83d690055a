// StatusView: what profd says of itself, for people and for programs.
#pragma once

#include <cstddef>
#include <string>

#include "client/text/palette.h"
#include "profd/v1/status.pb.h"

namespace profd::client {

// A line a topic, each at most `width` columns as far as only names have to be cut; `complete`:
// then every counter that is not zero.
[[nodiscard]] std::string RenderStatus(const v1::StatusResponse& status, std::size_t width,
                                       const Palette& palette, bool complete = false);

}  // namespace profd::client
