// LabelProcesses: the processes whose threads have labels, as the BPF side knows them.
#pragma once

#include <cstdint>

#include "bpf/shared/labels.h"

namespace profd::labels {

// The seam to the BPF map. Used by the thread of a LabelService.
class LabelProcesses {
 public:
  virtual ~LabelProcesses() = default;
  // Also changes what is there. False: there is no room.
  [[nodiscard]] virtual bool Put(std::uint32_t pid, const profd_label_process& process) = 0;
  // One that is not there is no error.
  virtual void Remove(std::uint32_t pid) = 0;
};

}  // namespace profd::labels
