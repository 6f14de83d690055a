// LabelProcessMap: the processes whose threads have labels, as the BPF side knows them.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "bpf/shared/control.h"
#include "bpf/shared/labels.h"
#include "daemon/base/result.h"

namespace profd::source {

// Writes the BPF map `label_processes`, and into the control words how many there are: while there
// are none, samples do not look. Owned by the source; used by one thread.
class LabelProcessMap {
 public:
  // `control` must outlive this.
  LabelProcessMap(int fd, profd_control& control) : fd_(fd), control_(control) {}

  // Also changes what is there. kExhausted: the map is full.
  [[nodiscard]] Result<void> Put(std::uint32_t pid, const profd_label_process& process);
  // One that is not there is no error.
  void Remove(std::uint32_t pid);

 private:
  const int fd_;
  profd_control& control_;
  std::unordered_set<std::uint32_t> pids_;
};

}  // namespace profd::source
