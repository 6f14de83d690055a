// ProcessLabels: what a process is called by those who look at services, pods and hosts.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "daemon/aggregate/profile.h"
#include "daemon/process/container_names.h"

namespace profd::aggregate {

// Names are those of OpenTelemetry's semantic conventions, where these have one. Those that the
// process and its container's runtime give (ProfileProcess::labels) come first. What is missing
// follows from the process itself: service.name (its unit, else its program), host.name,
// k8s.node.name (the host, of a pod), process.executable.name, process.executable.build_id.gnu,
// process.owner, container.id, k8s.pod.uid, systemd.unit. Values are valid UTF-8 and bounded; a
// label without a value is missing.
[[nodiscard]] std::map<std::string, std::string> ProcessLabels(const ProfileProcess& process,
                                                               std::string_view host);
// The value of one of them; "": it is missing.
[[nodiscard]] std::string ProcessLabel(const ProfileProcess& process, std::string_view host,
                                       std::string_view name);

// Fills ProfileProcess::labels: `resource` is what the process says it is, `container` what the
// runtime says of its container (process::ContainerNames); either may be null. The process names
// its service itself; its pod and its image are named by the runtime. Other attributes of the
// resource become "__resource.NAME", for rules alone.
void GiveLabels(const std::map<std::string, std::string>* resource,
                const process::ContainerLabels* container, ProfileProcess& process);

// The same for a process of a session. Both may be null.
void GiveLabels(const process::ProcessInfo* info, process::ContainerNames* containers,
                ProfileProcess& process);

// What distinguishes processes that are otherwise alike: their service, as they say.
[[nodiscard]] std::string ServiceKey(const ProfileProcess& process);
// Keeps the labels that are the same in both.
void KeepShared(const std::map<std::string, std::string>& others,
                std::map<std::string, std::string>& labels);

}  // namespace profd::aggregate
