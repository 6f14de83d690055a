// What is collected, from the options that say so.
#pragma once

#include <string>

#include "client/cli/cli_app.h"
#include "daemon/base/result.h"
#include "profd/v1/profiler.pb.h"

namespace profd::client {

// An error of whoever wrote the command line.
[[nodiscard]] Error Usage(std::string message, std::string hint);

// `has_command`: it stands in the place of a target. `other`: what else may.
[[nodiscard]] Result<v1::Target> ParseTarget(const RawOptions& raw, bool has_command,
                                             const char* other);
// "wall", "on", "off".
[[nodiscard]] Result<v1::Mode> ParseMode(const std::string& text);

}  // namespace profd::client
