// CommandLine: what profd is asked to do, from its flags, the environment and its configuration.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "daemon/base/result.h"
#include "daemon/config/options.h"

namespace profd::config {

// Options, or a text to print on stdout (help, version, a configuration that is right).
struct CommandLine {
  Options options;
  std::string config_file;  // the one that was read; "": none
  std::optional<std::string> text;
};

// Where the rest comes from; tests have their own.
struct Environment {
  std::function<const char*(const char* name)> environment;
  std::string default_config;  // read where it exists and no other is named
};
[[nodiscard]] Environment SystemEnvironment();

// A flag wins over the environment, that over the file, that over the default; what is wrong in any
// of them is said. Called again by SIGHUP. Private use reads no file unless one is named.
// kInvalidArgument: what is wrong, a line for each, and how to mend it.
[[nodiscard]] Result<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                                   const Environment& environment);

}  // namespace profd::config
