// The files that a process has mapped executable, by its list of mappings.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/source/steps/step_place.h"

namespace profd::source {

// `maps`: what /proc/PID/maps says. Each file once, without "(deleted)" behind
// its path; lines that make no sense are left out.
[[nodiscard]] std::vector<ExecutableFile> ExecutableFilesOf(std::uint32_t pid,
                                                            std::string_view maps);

}  // namespace profd::source
