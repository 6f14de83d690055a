// CommandLine: from argv to options.
#pragma once

#include <string>
#include <vector>

#include "client/cli/options.h"
#include "daemon/base/result.h"

namespace profd::client {

// `arguments` without the program's name. Pure: looks at no file and no process. Errors are
// kInvalidArgument and say what was meant, where that can be guessed.
[[nodiscard]] Result<CommandLine> ParseCommandLine(std::vector<std::string> arguments);

// A command and the names of its options ("-p", "--pid"), for checks that texts agree.
struct CommandNames {
  std::string name;  // empty: profctl itself
  std::vector<std::string> aliases;
  std::vector<std::string> options;
};
[[nodiscard]] std::vector<CommandNames> AllCommandNames();

}  // namespace profd::client
