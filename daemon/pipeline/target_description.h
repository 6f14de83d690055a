// TargetDescription: who a target names, for the first line a person sees.
#pragma once

#include <cstdint>

#include "daemon/base/proc_fs.h"
#include "daemon/pipeline/session.h"
#include "daemon/session/session_control.h"

namespace profd::pipeline {

// Inode of the pid namespace that profd runs in; 0 when /proc does not tell.
[[nodiscard]] std::uint32_t OwnPidNamespace(const ProcFs& proc);

// Processes and the number of threads that /proc has now; nothing where the target does not name
// processes by numbers of profd's own pid namespace. At most 64 processes. Times are left 0.
[[nodiscard]] SessionStart DescribeTarget(const session::Target& target, const ProcFs& proc);

}  // namespace profd::pipeline
