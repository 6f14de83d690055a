// WaitReason from what the kernel side saw of a wait.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "daemon/process/sample.h"

namespace profd::process {

struct WaitFacts {
  std::int32_t syscall = -1;  // number on this architecture; -1: in none
  std::array<std::uint64_t, 3> arguments{};
  std::uint16_t fd_kind = 0;     // enum profd_fd_kind of arguments[0]
  std::uint32_t task_state = 0;  // of the kernel, as it left the CPU
  bool iowait = false;
  bool kernel_thread = false;
};

// Pure. In this order:
//   1. stopped, traced or parked: other.
//   2. A syscall that waits for one thing only, whatever the state: io (fsync and its kin, files
//   and
//      block devices), driver (ioctl, character devices), lock (flock), child (vfork).
//   3. iowait: io. Page faults that wait for a disk are this.
//   4. uninterruptible in a syscall: kernel. The waits of rule 5 can be interrupted, so whoever
//      cannot be is held up on the way there (a page fault, the lock of a file's position).
//   5. The syscall's own reason: lock (futex, SysV semaphores), poll, sleep, net, pipe, child.
//      To poll no descriptor is to sleep.
//   6. in no syscall: a user thread fault; a kernel thread that is not idle kernel.
//   7. other.
// By kind of descriptor, read and write wait for: regular file, directory, block device io;
// character device driver; pipe pipe; socket net; eventfd poll (for another thread's word); timerfd
// and signalfd sleep (for a timer, for a signal: as pause and sigwait). GIL waits are told from
// stacks, not here.
[[nodiscard]] WaitReason ReasonFor(const WaitFacts& facts);

}  // namespace profd::process
