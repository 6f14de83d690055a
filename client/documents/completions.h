// Shell completions from the commands and their options.
#pragma once

#include <map>
#include <span>
#include <string>

#include "client/cli/command_model.h"

namespace profd::client {

// The parts of the template of a shell, by name.
using Parts = std::map<std::string, std::string>;

[[nodiscard]] Parts BashParts(const Command& root, std::span<const Command* const> commands);
[[nodiscard]] Parts FishParts(const Command& root, std::span<const Command* const> commands);
[[nodiscard]] Parts ZshParts(const Command& root, std::span<const Command* const> commands);

}  // namespace profd::client
