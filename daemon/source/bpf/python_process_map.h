// PythonProcessMap: the interpreters that the BPF side knows.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>

#include "bpf/shared/control.h"
#include "bpf/shared/python_layout.h"
#include "daemon/base/result.h"

namespace profd::source {

// Writes the BPF maps `python_processes` and `python_runtimes`, and into the control words how many
// processes there are: while there are none, samples do not look. Owned by the source; any thread.
class PythonProcessMap {
 public:
  // All must outlive this.
  PythonProcessMap(int processes_fd, int runtimes_fd, profd_control& control)
      : processes_fd_(processes_fd), runtimes_fd_(runtimes_fd), control_(control) {}

  // All runtimes of a process, first to last; at most PROFD_MAX_PYTHON_RUNTIMES. Also changes what
  // is there. kExhausted: a map is full; what is new of this one is not there, then.
  [[nodiscard]] Result<void> Put(std::uint32_t pid, std::span<const profd_python_process> runtimes);
  // One that is not there is no error.
  void Remove(std::uint32_t pid);

 private:
  const int processes_fd_;
  const int runtimes_fd_;
  profd_control& control_;
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::uint32_t> runtimes_;  // how many, by pid
};

}  // namespace profd::source
