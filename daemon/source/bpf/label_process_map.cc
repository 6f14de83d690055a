#include "daemon/source/bpf/label_process_map.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "daemon/source/bpf/control_word.h"

namespace profd::source {

Result<void> LabelProcessMap::Put(std::uint32_t pid, const profd_label_process& process) {
  if (::bpf_map_update_elem(fd_, &pid, &process, BPF_ANY) != 0) {
    Error error = ErrorFromErrno(errno, "cannot write where labels are for the BPF side");
    if (errno == E2BIG || errno == ENOMEM) error.code = ErrorCode::kExhausted;
    return error;
  }
  pids_.insert(pid);
  StoreControl(control_.label_processes, pids_.size());
  return {};
}

void LabelProcessMap::Remove(std::uint32_t pid) {
  if (pids_.erase(pid) == 0) return;
  ::bpf_map_delete_elem(fd_, &pid);
  StoreControl(control_.label_processes, pids_.size());
}

}  // namespace profd::source
