// CPU lists as the kernel writes them: "0-3,5".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::source {

// Ascending CPU numbers. kCorrupt when it is no such list; numbers beyond 65,535 are refused.
[[nodiscard]] Result<std::vector<std::uint32_t>> ParseCpuList(std::string_view text);

// The CPUs that are online now, from devices/system/cpu/online under `sys_root`.
[[nodiscard]] Result<std::vector<std::uint32_t>> OnlineCpus(const std::string& sys_root = "/sys");

}  // namespace profd::source
