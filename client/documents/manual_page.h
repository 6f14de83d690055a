// The parts of profctl.1 that follow from the commands, their options and the formats.
#pragma once

#include <map>
#include <span>
#include <string>

#include "client/cli/command_model.h"

namespace profd::client {

// SYNOPSIS, OPTIONS COMMAND for each command, COMMON (what every command and profctl itself have)
// and FORMATS.
[[nodiscard]] std::map<std::string, std::string> ManualParts(
    const Command& root, std::span<const Command* const> commands);

}  // namespace profd::client
