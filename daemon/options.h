// Options: what profd was asked to do.
#pragma once

#include <optional>
#include <string>

#include "bpf/control.h"
#include "daemon/base/result.h"

namespace profd {

struct Options {
  std::string listen;        // gRPC address
  std::string record_file;   // "": no recording
  std::string replay_file;   // "": live
  bool private_use = false;  // ends when standard input does; says "ready" on standard output
  bool debug_info = true;    // inlined functions and lines, where debug information is local
  std::optional<profd_hook> force_hook;
  std::string log_level;  // as spdlog names them
};

// What the command line comes to: options, or a text to print on stdout (help, version).
struct CommandLine {
  Options options;
  std::optional<std::string> text;
};

// kInvalidArgument: what is wrong, and how to mend it.
[[nodiscard]] Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace profd
