// OwnUsage: what profd itself costs, as the kernel accounts it.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "daemon/base/proc_fs.h"

namespace profd {

// CPU time of all threads of this process and of its children that have ended (they read its
// snapshots), user and kernel.
[[nodiscard]] std::uint64_t OwnCpuNs();

// CPU time of the calling thread, user and kernel; of another one of this process, which has not
// been joined yet.
[[nodiscard]] std::uint64_t ThreadCpuNs();
[[nodiscard]] std::uint64_t ThreadCpuNs(pthread_t thread);

// Resident memory of this process; 0 when /proc cannot tell.
[[nodiscard]] std::uint64_t OwnResidentBytes(const ProcFs& proc);

}  // namespace profd
