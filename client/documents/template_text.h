// Files of deploy/ with lines that the build fills in.
#pragma once

#include <map>
#include <string>

#include "daemon/base/result.h"

namespace profd::client {

// A line `# @NAME@`, or `.\" @NAME@` in a manual page, stands for the lines of parts["NAME"], which
// get its indentation. kInvalidArgument: `text` has a name that `parts` lacks, or lacks one.
[[nodiscard]] Result<std::string> FillTemplate(const std::string& text,
                                               const std::map<std::string, std::string>& parts);

}  // namespace profd::client
