// StealNs: how long the hypervisor kept CPUs that had work.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace profd::testing {

inline constexpr std::uint64_t kStealUnitNs = 10'000'000;  // USER_HZ is 100

// Of all CPUs since the machine started, from /proc/stat; less than a unit too little.
[[nodiscard]] inline std::uint64_t StealNs() {
  std::ifstream file("/proc/stat");
  std::string name;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  std::uint64_t steal = 0;
  file >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  return steal * kStealUnitNs;
}

}  // namespace profd::testing
