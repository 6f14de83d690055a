// CgroupNames: container, systemd unit and pod, from the path of a cgroup. Pure.
#pragma once

#include <string>
#include <string_view>

namespace profd::process {

// The id of the innermost container: 64 hexadecimal digits for docker, containerd (also under
// Kubernetes), CRI-O and podman, whether systemd or the runtime itself made the cgroup; the name of
// an LXC one. "": in none. A container's monitor (conmon) is not in its container.
[[nodiscard]] std::string ContainerOf(std::string_view cgroup);

// The unit of the system's systemd, as in `ps -o unit`: the first part of the path that is no
// slice, if its name is that of a unit. Units of a user's own systemd are in user@UID.service. "":
// in none.
[[nodiscard]] std::string UnitOf(std::string_view cgroup);

// The uid of the pod, with hyphens, where kubelet has made the cgroup with either of its drivers;
// "": in none.
[[nodiscard]] std::string PodUidOf(std::string_view cgroup);

}  // namespace profd::process
