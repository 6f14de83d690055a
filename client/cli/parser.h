// From arguments to the variables of options. parser.cc is the only file that knows CLI11.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "client/cli/command_model.h"
#include "daemon/base/result.h"

namespace profd::client {

struct ParsedArguments {
  const Command* command = nullptr;  // that is named; null: none is
  bool help = false;                 // requested; nothing else was looked at
};

// `arguments` without the program's name. Options of `root` may stand before a command. Sets the
// variables of the options; what their values mean is not looked at. kInvalidArgument says what
// was meant, where that can be guessed.
[[nodiscard]] Result<ParsedArguments> ParseArguments(const Command& root,
                                                     std::span<const Command* const> commands,
                                                     std::vector<std::string> arguments);

}  // namespace profd::client
