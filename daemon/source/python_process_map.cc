#include "daemon/source/python_process_map.h"

#include <bpf/bpf.h>

#include <cerrno>

#include "daemon/source/epochs.h"

namespace profd::source {

Result<void> PythonProcessMap::Put(std::uint32_t pid, const profd_python_process& process) {
  const std::scoped_lock lock(mutex_);
  if (::bpf_map_update_elem(map_fd_, &pid, &process, BPF_ANY) != 0) {
    Error error = ErrorFromErrno(errno, "cannot tell the kernel side of an interpreter");
    if (errno == E2BIG || errno == ENOMEM) error.code = ErrorCode::kExhausted;
    return error;
  }
  pids_.insert(pid);
  StoreControl(control_.python_processes, pids_.size());
  return {};
}

void PythonProcessMap::Remove(std::uint32_t pid) {
  const std::scoped_lock lock(mutex_);
  if (pids_.erase(pid) == 0) return;
  ::bpf_map_delete_elem(map_fd_, &pid);
  StoreControl(control_.python_processes, pids_.size());
}

}  // namespace profd::source
