// FirstProcessCpuNs: how long process 1 ran. A VM's kernel may run no tracing program while a thread
// of its process 1 is current: an interrupt that ends a wait then is not seen.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace profd::testing {

// All its threads that are there now, by kernel accounting.
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
