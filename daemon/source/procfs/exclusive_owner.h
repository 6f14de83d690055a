// ExclusiveOwner: whose alone a process is, by what /proc says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/proc_fs.h"

namespace profd::source {

// All user ids of the process are this one, it keeps nothing from that user (it is dumpable), and
// it has no rights over the host. Nothing: it is of nobody alone.
using ExclusiveOwner = std::optional<std::uint32_t>;

// `directory`: the process's or thread's below /proc, "1234". `status`: what its status file says.
// Nothing, too, when that cannot be told.
[[nodiscard]] ExclusiveOwner SoleOwnerOf(const std::string& directory, std::string_view status,
                                         const ProcFs& proc);

// What follows `key`, "Uid:", on its line of /proc/PID/status; "" when there is no such line.
[[nodiscard]] std::string_view StatusLine(std::string_view status, std::string_view key);

}  // namespace profd::source
