// OwnUsage: what profd itself costs, as the kernel accounts it.
#pragma once

#include <cstdint>

#include "daemon/base/proc_fs.h"

namespace profd {

// CPU time of all threads of this process and of its children that have ended (they read its
// snapshots), user and kernel.
[[nodiscard]] std::uint64_t OwnCpuNs();

// Resident memory of this process; 0 when /proc cannot tell.
[[nodiscard]] std::uint64_t OwnResidentBytes(const ProcFs& proc);

}  // namespace profd
