// The text of --help, in lines of at most 80 columns.
#pragma once

#include <span>
#include <string>

#include "client/cli/command_model.h"

namespace profd::client {

inline constexpr std::size_t kHelpWidth = 80;

// `commands` are listed with their summaries; empty for the help of one command.
[[nodiscard]] std::string HelpText(const Command& command,
                                   std::span<const Command* const> commands);

}  // namespace profd::client
