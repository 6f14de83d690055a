// The files that viewers open: every format of every sample profile, written once per test program.
#pragma once

#include <string>

#include "profd/v1/profile.pb.h"

namespace profd::testing {

// Folder under the build tree; holds small.svg, small.folded, typical.pb.gz, ...
[[nodiscard]] const std::string& ExportedFiles();

// Full path of `program`, looked for in PATH; "" when it is not installed.
[[nodiscard]] std::string FindProgram(const std::string& program);

}  // namespace profd::testing
