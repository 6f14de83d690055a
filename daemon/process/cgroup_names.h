// What the path of a cgroup says of the processes in it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace profd::process {

// The id of the innermost container: 64 hexadecimal digits for docker, containerd (also under
// Kubernetes), CRI-O and podman, whether systemd or the runtime itself made the cgroup; the name of
// an LXC one. "": in none. A container's monitor (conmon) is not in its container.
[[nodiscard]] std::string ContainerOf(std::string_view cgroup);

// The system's unit, as `ps -o unit` has it: the first part of the path that is no slice, when its
// name is one of a unit. What users' own managers start is in their user@UID.service. "": in none.
[[nodiscard]] std::string UnitOf(std::string_view cgroup);

}  // namespace profd::process
