#include "daemon/source/bpf/python_process_map.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

#include "daemon/source/bpf/control_word.h"

namespace profd::source {
namespace {

Error ErrorOfMap() {
  Error error = ErrorFromErrno(errno, "cannot write the layout of an interpreter for the BPF side");
  if (errno == E2BIG || errno == ENOMEM) error.code = ErrorCode::kExhausted;
  return error;
}

}  // namespace

// The first one last: it says that the others are there.
Result<void> PythonProcessMap::Put(std::uint32_t pid,
                                   std::span<const profd_python_process> runtimes) {
  const std::scoped_lock lock(mutex_);
  const auto count = static_cast<std::uint32_t>(runtimes.size());
  for (std::uint32_t i = count; i-- > 0;) {
    profd_python_process runtime = runtimes[i];
    runtime.pid = pid;
    runtime.more = i == 0 ? static_cast<std::uint16_t>(count - 1) : 0;
    const profd_python_runtime_key key{.pid = pid, .runtime = i};
    const int failed = i == 0 ? ::bpf_map_update_elem(processes_fd_, &pid, &runtime, BPF_ANY)
                              : ::bpf_map_update_elem(runtimes_fd_, &key, &runtime, BPF_ANY);
    if (failed != 0) return ErrorOfMap();
    std::uint32_t& known = runtimes_[pid];
    known = std::max(known, i + 1);
  }
  StoreControl(control_.python_processes, runtimes_.size());
  return {};
}

void PythonProcessMap::Remove(std::uint32_t pid) {
  const std::scoped_lock lock(mutex_);
  const auto found = runtimes_.find(pid);
  if (found == runtimes_.end()) return;
  ::bpf_map_delete_elem(processes_fd_, &pid);
  for (std::uint32_t i = 1; i < found->second; ++i) {
    const profd_python_runtime_key key{.pid = pid, .runtime = i};
    ::bpf_map_delete_elem(runtimes_fd_, &key);
  }
  runtimes_.erase(found);
  StoreControl(control_.python_processes, runtimes_.size());
}

}  // namespace profd::source
