// ExclusiveOwner: whose alone a process is, by what /proc says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/proc/proc_fs.h"

namespace profd::source {

// The user who owns a process exclusively: all its user ids are this one, it is dumpable, and it
// has no capability on the host. Nothing: no user does.
using ExclusiveOwner = std::optional<std::uint32_t>;

// `directory`: the process's or thread's below /proc, "1234". `status`: what its status file says.
// Nothing, too, if it cannot be read.
[[nodiscard]] ExclusiveOwner SoleOwnerOf(const std::string& directory, std::string_view status,
                                         const ProcFs& proc);

}  // namespace profd::source
