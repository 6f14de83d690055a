// PythonProcesses: the BPF side's table of processes with interpreters.
#pragma once

#include <cstdint>
#include <span>

#include "bpf/shared/python_layout.h"

namespace profd::python {

// `pid` is the number that events carry. Only the service's thread calls it.
class PythonProcesses {
 public:
  virtual ~PythonProcesses() = default;
  // All runtimes of a process; at most PROFD_MAX_PYTHON_RUNTIMES. False: there is no room.
  [[nodiscard]] virtual bool Put(std::uint32_t pid,
                                 std::span<const profd_python_process> runtimes) = 0;
  virtual void Remove(std::uint32_t pid) = 0;
};

}  // namespace profd::python
