// Filter: a session's target in the form that the BPF side evaluates.
#pragma once

#include <string>

#include "bpf/shared/control.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/session/session_control.h"

namespace profd::source {

// Checks the target as far as user space can. kInvalidArgument: it is not valid. kNotFound: there
// is no such process, thread or cgroup; only the BPF side can check ids of another pid namespace.
// The ids themselves go to the map `filter_ids`.
[[nodiscard]] Result<profd_filter> MakeFilter(const session::Target& target, const ProcFs& proc);

// "cannot open process 1234: no such process": for a target of ids of which no thread was found.
[[nodiscard]] Error NotFound(const session::Target& target);

// The directory of a cgroup: as given if it is one (an absolute path below the mount), else below
// the machine's cgroup v2 mount, the way /proc/PID/cgroup writes it.
[[nodiscard]] Result<std::string> CgroupDirectory(const std::string& name, const ProcFs& proc);

}  // namespace profd::source
