// ProgramNames: the names of programs whose files have other names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {

// Maps paths of executables to names, for example /usr/bin/redis-check-rdb to "redis-server", if
// the program was started by a link of that name. The comm of a process counts only if its first
// argument agrees: scripts have the name of the script, and processes can rename themselves. Files
// that run under several names (busybox) and files that run under their own name are left out.
[[nodiscard]] std::map<std::string, std::string> ProgramNames(
    const std::vector<ProfileProcess>& processes);

}  // namespace profd::aggregate
