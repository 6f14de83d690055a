// PythonProcessMap: what the kernel side knows of interpreters.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "bpf/control.h"
#include "bpf/python_layout.h"
#include "daemon/base/result.h"

namespace profd::source {

// Writes the BPF map `python_processes`, and into the control words how many there are: while there
// are none, samples do not look. Owned by the source; any thread.
class PythonProcessMap {
 public:
  // Both must outlive this.
  PythonProcessMap(int map_fd, profd_control& control) : map_fd_(map_fd), control_(control) {}

  // Also changes what is there. kExhausted beyond PROFD_MAX_PYTHON_PROCESSES.
  [[nodiscard]] Result<void> Put(std::uint32_t pid, const profd_python_process& process);
  // One that is not there is no error.
  void Remove(std::uint32_t pid);

 private:
  const int map_fd_;
  profd_control& control_;
  std::mutex mutex_;
  std::unordered_set<std::uint32_t> pids_;
};

}  // namespace profd::source
