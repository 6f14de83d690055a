// ProgramNames: what a program is called whose file has another name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {

// By path of the executable: "redis-server" for /usr/bin/redis-check-rdb, which it was started by a
// link to. A process's comm is believed where its first argument says the same: that is not so for
// scripts, whose comm is that of the script, nor where a process has renamed itself. Files that
// were started under several names (busybox) are left out, as are those that are called by theirs.
[[nodiscard]] std::map<std::string, std::string> ProgramNames(
    const std::vector<ProfileProcess>& processes);

}  // namespace profd::aggregate
