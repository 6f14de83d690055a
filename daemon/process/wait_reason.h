// WaitReason: why a blocked thread waits, and how that follows from what the BPF side saw.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace profd::process {

// Same values as profd.v1.WaitReason.
enum class WaitReason : std::uint8_t {
  kNone,
  kLock,
  kGil,
  kIo,
  kDriver,
  kKernel,
  kSleep,
  kPoll,
  kNet,
  kPipe,
  kChild,
  kFault,
  kOther
};

struct WaitReasonInfo {
  WaitReason reason;
  std::string_view name;         // the word in profiles; "" for kNone
  std::string_view explanation;  // what the thread waits for
};

// THE table of wait reasons, in the order of the enum. A new reason is a value of both enums and an
// entry here.
inline constexpr std::array kWaitReasons = {
    WaitReasonInfo{WaitReason::kNone, "", "it does not wait"},
    WaitReasonInfo{WaitReason::kLock, "lock", "a lock: futex, semaphore, file lock"},
    WaitReasonInfo{WaitReason::kGil, "gil", "the GIL of its Python interpreter"},
    WaitReasonInfo{WaitReason::kIo, "io", "a file or a block device"},
    WaitReasonInfo{WaitReason::kDriver, "driver", "a driver: ioctl, character device"},
    WaitReasonInfo{WaitReason::kKernel, "kernel", "something in the kernel, uninterruptibly"},
    WaitReasonInfo{WaitReason::kSleep, "sleep", "a timer or a signal"},
    WaitReasonInfo{WaitReason::kPoll, "poll", "any of several descriptors, or an eventfd"},
    WaitReasonInfo{WaitReason::kNet, "net", "a socket"},
    WaitReasonInfo{WaitReason::kPipe, "pipe", "a pipe"},
    WaitReasonInfo{WaitReason::kChild, "child", "a child process"},
    WaitReasonInfo{WaitReason::kFault, "fault", "a page fault"},
    WaitReasonInfo{WaitReason::kOther, "other", "something else, or profd does not know"},
};

constexpr bool WaitReasonsAreInOrder() {
  for (std::size_t i = 0; i < kWaitReasons.size(); ++i)
    if (static_cast<std::size_t>(kWaitReasons[i].reason) != i) return false;
  return true;
}
static_assert(WaitReasonsAreInOrder());

// "lock", "io", ...; "" for kNone and for a value that is not in the table.
[[nodiscard]] constexpr std::string_view WaitReasonName(WaitReason reason) {
  const auto index = static_cast<std::size_t>(reason);
  return index < kWaitReasons.size() ? kWaitReasons[index].name : std::string_view();
}

// What the BPF side saw of a wait.
struct WaitFacts {
  std::int32_t syscall = -1;  // number on this architecture; -1: in none
  std::array<std::uint64_t, 3> arguments{};
  std::uint16_t fd_kind = 0;     // enum profd_fd_kind of arguments[0]
  std::uint32_t task_state = 0;  // of the kernel, as it left the CPU
  bool iowait = false;
  bool kernel_thread = false;
};

// Pure. The first rule that holds decides:
//   1. Stopped, traced or parked: other.
//   2. A syscall that waits for one thing only, in any state: io (fsync and similar calls, files
//   and
//      block devices), driver (ioctl, character devices), lock (flock), child (vfork).
//   3. iowait: io. This includes page faults that wait for a disk.
//   4. Uninterruptible in a syscall: kernel. The waits of rule 5 are interruptible, so an
//      uninterruptible thread is held up before them (by a page fault, or by the lock of a file's
//      position).
//   5. The reason of the syscall: lock (futex, SysV semaphores), poll, sleep, net, pipe, child. To
//      poll no descriptor is to sleep.
//   6. In no syscall: a user thread fault; a kernel thread that is not idle kernel.
//   7. Other.
// For read and write the kind of descriptor decides: regular file, directory, block device io;
// character device driver; pipe pipe; socket net; eventfd poll (another thread signals it); timerfd
// and signalfd sleep (for a timer or a signal, as in pause and sigwait). Waits for the GIL follow
// from stacks; python::StackMerger finds them.
[[nodiscard]] WaitReason ReasonFor(const WaitFacts& facts);

}  // namespace profd::process
