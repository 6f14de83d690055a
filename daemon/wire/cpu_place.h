// CpuPlace: where a CPU of the host is.
#pragma once

#include <cstdint>
#include <optional>

namespace profd {

// CPUs that share something have the number of the lowest of them. A passive struct.
struct CpuPlace {
  std::uint32_t cpu = 0;
  std::uint32_t core = 0;
  std::optional<std::uint32_t> cache;  // of the last level; nothing: not known
  std::uint32_t node = 0;              // of NUMA

  friend bool operator==(const CpuPlace&, const CpuPlace&) = default;
};

}  // namespace profd
