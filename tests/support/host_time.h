// StealNs, FirstProcessCpuNs: CPU time of the host that a test has to allow for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace profd::testing {

inline constexpr std::uint64_t kStealUnitNs = 10'000'000;  // USER_HZ is 100

// How long the hypervisor kept CPUs that had work: of all CPUs since the machine started, from
// /proc/stat; less than a unit too little.
[[nodiscard]] inline std::uint64_t StealNs() {
  std::ifstream file("/proc/stat");
  std::string name;
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
  std::uint64_t steal = 0;
  file >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
  return steal * kStealUnitNs;
}

// How long the threads that process 1 has now ran, by kernel accounting. A VM's kernel may run no
// tracing program while one of them is current: an interrupt that ends a wait then is not seen.
[[nodiscard]] inline std::uint64_t FirstProcessCpuNs() {
  std::uint64_t all_ns = 0;
  std::error_code ignored;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/1/task", ignored)) {
    std::uint64_t ns = 0;
    std::ifstream(thread.path() / "schedstat") >> ns;
    all_ns += ns;
  }
  return all_ns;
}

}  // namespace profd::testing
