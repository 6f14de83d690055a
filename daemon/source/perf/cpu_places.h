// Which CPUs of the host share a core, a last-level cache, or a NUMA node.
#pragma once

#include <string>
#include <vector>

#include "daemon/wire/cpu_place.h"

namespace profd::source {

// Of the CPUs that are online now, ascending, from devices/system under `sys_root`. Empty: the host
// does not say of each CPU which core it is of. Caches are known of all CPUs or of none. Without
// NUMA all CPUs are of node 0.
[[nodiscard]] std::vector<CpuPlace> ReadCpuPlaces(const std::string& sys_root = "/sys");

// 1 + the highest number that a CPU of the host may ever have; 0: not known.
[[nodiscard]] std::uint32_t CpuNumbers(const std::string& sys_root = "/sys");

}  // namespace profd::source
