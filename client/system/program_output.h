// ProgramOutput: what another program says of some input, as a child that is waited for.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::client {

struct ProgramLimits {
  std::size_t max_bytes = 64u << 20;  // of its output
  std::chrono::seconds cpu_time{0};   // after which the kernel ends it; 0: no limit
};

// What `program` (a path) writes to standard output with these arguments, when it reads `input`.
// kIo with the first line that it says on standard error: it failed. Main thread.
[[nodiscard]] Result<std::string> RunProgram(const std::string& program,
                                             const std::vector<std::string>& arguments,
                                             std::string_view input, const ProgramLimits& limits);

}  // namespace profd::client
