// ProcessLabels: what a process of the history is called outside of its host.
#pragma once

#include <string>
#include <string_view>

#include "daemon/aggregate/profile.h"
#include "daemon/fleet/profile/relabelling.h"

namespace profd::fleet {

// Names are those of OpenTelemetry's semantic conventions, where these have one: service.name,
// host.name, process.executable.name, process.executable.build_id.gnu, process.owner, container.id,
// k8s.pod.uid, systemd.unit. Rules alone see __process.pid, __process.command_line, __process.comm,
// __process.executable.path, __process.cgroup, __process.parent and __process.owner.uid. Values are
// valid UTF-8 and bounded; a label without a value is missing.
[[nodiscard]] Labels LabelsOf(const aggregate::ProfileProcess& process, std::string_view host);

// The uid of the pod in the path of a cgroup, with hyphens, as kubelet makes it with either of its
// drivers; "": in none.
[[nodiscard]] std::string PodUidOf(std::string_view cgroup);

}  // namespace profd::fleet
