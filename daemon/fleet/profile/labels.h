// Labels of a process of the history, for the rules that decide what leaves the host.
#pragma once

#include <string_view>

#include "daemon/aggregate/profile.h"
#include "daemon/fleet/profile/relabelling.h"

namespace profd::fleet {

// Those of aggregate::ProcessLabels. Rules alone see __process.pid, __process.command_line,
// __process.comm, __process.executable.path, __process.cgroup, __process.parent and
// __process.owner.uid. Values are valid UTF-8 and bounded; a label without a value is missing.
[[nodiscard]] Labels LabelsOf(const aggregate::ProfileProcess& process, std::string_view host);

}  // namespace profd::fleet
