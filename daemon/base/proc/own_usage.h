// OwnUsage: what profd itself costs, as the kernel accounts it.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <map>
#include <string>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/unique_fd.h"

namespace profd {

// CPU time of all threads of this process and of its children that have ended (they read its
// snapshots), user and kernel.
[[nodiscard]] std::uint64_t OwnCpuNs();

// CPU time of the calling thread, user and kernel; of another one of this process, which has not
// been joined yet.
[[nodiscard]] std::uint64_t ThreadCpuNs();
[[nodiscard]] std::uint64_t ThreadCpuNs(pthread_t thread);

// CPU time of each thread of this process that lives, added up by name; in ticks of the kernel's
// books (10 ms).
[[nodiscard]] std::map<std::string, std::uint64_t> OwnThreadCpuNs(const ProcFs& proc);

// Resident memory of this process; 0: /proc cannot be read.
[[nodiscard]] std::uint64_t OwnResidentBytes(const ProcFs& proc);

// The same again and again: finding the file costs more than reading it. Any thread.
class OwnResident {
 public:
  explicit OwnResident(const ProcFs& proc);
  [[nodiscard]] std::uint64_t Bytes() const;

 private:
  const UniqueFd statm_;
};

// What the allocator has from the kernel: in use, and free but kept.
struct HeapBytes {
  std::uint64_t used = 0;
  std::uint64_t free = 0;
};
[[nodiscard]] HeapBytes OwnHeapBytes();

// Threads of the whole host, kernel threads too; 0: /proc cannot be read.
[[nodiscard]] std::uint64_t ThreadsOnHost(const ProcFs& proc);

}  // namespace profd
