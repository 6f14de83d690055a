// CommandLine: the options of profd, from its flags, its environment and its configuration file.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "daemon/base/result.h"
#include "daemon/config/options.h"
#include "daemon/rules/rule_set.h"

namespace profd::config {

// Options, or a text to print on standard output (help, version, a valid configuration).
struct CommandLine {
  Options options;
  std::string config_file;  // the file that was read; "": none
  rules::RuleSetRef rules;  // of the file that the options name, and the shipped ones; never null
  std::optional<std::string> text;
};

// Where everything but the flags comes from; tests have their own.
struct Environment {
  std::function<const char*(const char* name)> environment;
  std::string default_config;  // read if it exists and no other file is named
};
[[nodiscard]] Environment SystemEnvironment();

// A flag wins over the environment, the environment over the file, the file over the default. A
// wrong value is an error even where another one wins, and so is a wrong rule. profd calls this
// again on SIGHUP. With
// --private it reads no file unless one is named. kInvalidArgument: one line for each problem, and
// how to fix it.
[[nodiscard]] Result<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                                   const Environment& environment);

}  // namespace profd::config
