#include "daemon/process/wait_reason.h"

#include <asm/unistd_64.h>
#include <fcntl.h>

#include <algorithm>
#include <array>

#include "bpf/shared/events.h"

namespace profd::process {
namespace {

// include/linux/sched.h of the kernel. The values below have not moved since 4.14.
constexpr std::uint32_t kUninterruptible = 0x2;
constexpr std::uint32_t kStopped = 0x4;
constexpr std::uint32_t kTraced = 0x8;
constexpr std::uint32_t kParked = 0x40;
constexpr std::uint32_t kWakeOnKill = 0x100;  // with kUninterruptible: fatal signals end the wait
constexpr std::uint32_t kNoLoad = 0x400;      // with kUninterruptible: an idle kernel thread
constexpr std::uint32_t kRealTimeLock = 0x1000;

// The headers of the oldest build machine do not have it yet.
constexpr std::int32_t kFutexWait = 455;

enum class Rule : std::uint8_t {
  kAlways,         // `reason` in any state
  kDescriptors0,   // arguments[0] is how many descriptors it waits on: none, and it sleeps
  kDescriptors1,   // arguments[1] is
  kInterruptible,  // `reason` unless the wait is uninterruptible
  kByDescriptor,   // arguments[0] is the descriptor it waits on
  kFcntl,          // waits for a file lock with some commands only
  kSpawn,          // may be a vfork, whose parent waits for the child's exec
};

struct SyscallRule {
  std::int32_t number;
  Rule rule;
  WaitReason reason = WaitReason::kNone;
};

constexpr auto kByNumber = [] {
  using enum Rule;
  using enum WaitReason;
  std::array rules{
      SyscallRule{__NR_futex, kInterruptible, kLock},
      SyscallRule{__NR_futex_waitv, kInterruptible, kLock},
      SyscallRule{kFutexWait, kInterruptible, kLock},
      SyscallRule{__NR_semop, kInterruptible, kLock},
      SyscallRule{__NR_semtimedop, kInterruptible, kLock},
      SyscallRule{__NR_flock, kAlways, kLock},
      SyscallRule{__NR_fcntl, kFcntl, kLock},

      SyscallRule{__NR_read, kByDescriptor},
      SyscallRule{__NR_write, kByDescriptor},
      SyscallRule{__NR_readv, kByDescriptor},
      SyscallRule{__NR_writev, kByDescriptor},
      SyscallRule{__NR_pread64, kByDescriptor},
      SyscallRule{__NR_pwrite64, kByDescriptor},
      SyscallRule{__NR_preadv, kByDescriptor},
      SyscallRule{__NR_pwritev, kByDescriptor},
      SyscallRule{__NR_preadv2, kByDescriptor},
      SyscallRule{__NR_pwritev2, kByDescriptor},
      SyscallRule{__NR_sendfile, kByDescriptor},
      SyscallRule{__NR_splice, kByDescriptor},
      SyscallRule{__NR_tee, kByDescriptor},
      SyscallRule{__NR_vmsplice, kByDescriptor},
      SyscallRule{__NR_copy_file_range, kByDescriptor},

      SyscallRule{__NR_fsync, kAlways, kIo},
      SyscallRule{__NR_fdatasync, kAlways, kIo},
      SyscallRule{__NR_msync, kAlways, kIo},
      SyscallRule{__NR_sync, kAlways, kIo},
      SyscallRule{__NR_syncfs, kAlways, kIo},
      SyscallRule{__NR_sync_file_range, kAlways, kIo},
      SyscallRule{__NR_fallocate, kAlways, kIo},
      SyscallRule{__NR_ftruncate, kAlways, kIo},
      SyscallRule{__NR_truncate, kAlways, kIo},
      SyscallRule{__NR_getdents64, kAlways, kIo},
      SyscallRule{__NR_readahead, kAlways, kIo},
      SyscallRule{__NR_io_getevents, kAlways, kIo},
      SyscallRule{__NR_io_pgetevents, kAlways, kIo},

      SyscallRule{__NR_ioctl, kAlways, kDriver},

      SyscallRule{__NR_poll, kDescriptors1, kPoll},
      SyscallRule{__NR_ppoll, kDescriptors1, kPoll},
      SyscallRule{__NR_select, kDescriptors0, kPoll},
      SyscallRule{__NR_pselect6, kDescriptors0, kPoll},
      SyscallRule{__NR_epoll_wait, kInterruptible, kPoll},
      SyscallRule{__NR_epoll_pwait, kInterruptible, kPoll},
      SyscallRule{__NR_epoll_pwait2, kInterruptible, kPoll},
      SyscallRule{__NR_io_uring_enter, kInterruptible, kPoll},

      SyscallRule{__NR_nanosleep, kInterruptible, kSleep},
      SyscallRule{__NR_clock_nanosleep, kInterruptible, kSleep},
      SyscallRule{__NR_pause, kInterruptible, kSleep},
      SyscallRule{__NR_rt_sigsuspend, kInterruptible, kSleep},
      SyscallRule{__NR_rt_sigtimedwait, kInterruptible, kSleep},

      SyscallRule{__NR_accept, kInterruptible, kNet},
      SyscallRule{__NR_accept4, kInterruptible, kNet},
      SyscallRule{__NR_connect, kInterruptible, kNet},
      SyscallRule{__NR_recvfrom, kInterruptible, kNet},
      SyscallRule{__NR_recvmsg, kInterruptible, kNet},
      SyscallRule{__NR_recvmmsg, kInterruptible, kNet},
      SyscallRule{__NR_sendto, kInterruptible, kNet},
      SyscallRule{__NR_sendmsg, kInterruptible, kNet},
      SyscallRule{__NR_sendmmsg, kInterruptible, kNet},

      SyscallRule{__NR_wait4, kInterruptible, kChild},
      SyscallRule{__NR_waitid, kInterruptible, kChild},
      SyscallRule{__NR_vfork, kSpawn, kChild},
      SyscallRule{__NR_clone, kSpawn, kChild},
      SyscallRule{__NR_clone3, kSpawn, kChild},
  };
  std::ranges::sort(rules, {}, &SyscallRule::number);
  return rules;
}();

static_assert(std::ranges::adjacent_find(kByNumber, {}, &SyscallRule::number) == kByNumber.end());

// `reason` holds if the wait is interruptible; if `certain`, always.
struct Wait {
  WaitReason reason = WaitReason::kOther;
  bool certain = false;
};

Wait ByDescriptor(std::uint16_t fd_kind) {
  switch (fd_kind) {
    case PROFD_FD_REGULAR:
    case PROFD_FD_BLOCK:
    case PROFD_FD_DIRECTORY:
      return {WaitReason::kIo, true};
    case PROFD_FD_CHAR:
      return {WaitReason::kDriver, true};
    case PROFD_FD_PIPE:
      return {WaitReason::kPipe};
    case PROFD_FD_SOCKET:
      return {WaitReason::kNet};
    case PROFD_FD_EVENTFD:
      return {WaitReason::kPoll};
    case PROFD_FD_TIMERFD:
    case PROFD_FD_SIGNALFD:
      return {WaitReason::kSleep};
    default:
      return {};
  }
}

Wait BySyscall(const WaitFacts& facts) {
  const auto found = std::ranges::lower_bound(kByNumber, facts.syscall, {}, &SyscallRule::number);
  if (found == kByNumber.end() || found->number != facts.syscall) return {};
  switch (found->rule) {
    case Rule::kAlways:
      return {found->reason, true};
    case Rule::kInterruptible:
      return {found->reason};
    case Rule::kDescriptors0:
      return {facts.arguments[0] == 0 ? WaitReason::kSleep : found->reason};
    case Rule::kDescriptors1:
      return {facts.arguments[1] == 0 ? WaitReason::kSleep : found->reason};
    case Rule::kByDescriptor:
      return ByDescriptor(facts.fd_kind);
    case Rule::kFcntl:
      if (facts.arguments[1] != F_SETLKW && facts.arguments[1] != F_OFD_SETLKW) return {};
      return {found->reason, true};
    case Rule::kSpawn:
      // The wait of a vfork also ends when the parent is killed; no other wait of these syscalls
      // does. The flags do not help: those of clone3 are in the caller's memory.
      if ((facts.task_state & kWakeOnKill) == 0) return {};
      return {found->reason, true};
  }
  return {};
}

}  // namespace

WaitReason ReasonFor(const WaitFacts& facts) {
  if ((facts.task_state & (kStopped | kTraced | kParked)) != 0) return WaitReason::kOther;
  const bool uninterruptible = (facts.task_state & (kUninterruptible | kRealTimeLock)) != 0;
  if (facts.syscall < 0) {
    if (facts.iowait) return WaitReason::kIo;
    if (!facts.kernel_thread) return WaitReason::kFault;
    const bool idle = (facts.task_state & kNoLoad) != 0;
    return uninterruptible && !idle ? WaitReason::kKernel : WaitReason::kOther;
  }
  const Wait wait = BySyscall(facts);
  if (wait.certain) return wait.reason;
  if (facts.iowait) return WaitReason::kIo;
  return uninterruptible ? WaitReason::kKernel : wait.reason;
}

}  // namespace profd::process
