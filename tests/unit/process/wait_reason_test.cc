#include "daemon/process/wait_reason.h"

#include <asm/unistd_64.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "bpf/shared/events.h"

namespace profd::process {
namespace {

using enum WaitReason;

constexpr std::uint32_t kS = 0x1;  // interruptible
constexpr std::uint32_t kSFreezable = 0x2001;
constexpr std::uint32_t kD = 0x2;  // uninterruptible
constexpr std::uint32_t kDKillable = 0x102;
constexpr std::uint32_t kDKillableFreezable = 0x2102;
constexpr std::uint32_t kIdle = 0x402;
constexpr std::uint32_t kStopped = 0x104;
constexpr std::uint32_t kTraced = 0x108;
constexpr std::uint32_t kParked = 0x40;
constexpr std::uint32_t kRtLock = 0x1000;

struct Case {
  const char* name;
  WaitFacts facts;
  WaitReason reason;
};

WaitFacts In(std::int32_t syscall, std::uint32_t state = kS, bool iowait = false) {
  return {.syscall = syscall, .task_state = state, .iowait = iowait};
}

WaitFacts On(std::int32_t syscall, std::uint16_t fd_kind, std::uint32_t state = kS,
             bool iowait = false) {
  return {.syscall = syscall, .fd_kind = fd_kind, .task_state = state, .iowait = iowait};
}

// Of so many descriptors: the first argument of select, the second of poll.
WaitFacts Among(std::int32_t syscall, std::uint64_t first, std::uint64_t second) {
  return {.syscall = syscall, .arguments = {first, second, 0}, .task_state = kS};
}

WaitFacts Fcntl(std::uint64_t command, std::uint32_t state = kS) {
  return {.syscall = __NR_fcntl, .arguments = {3, command, 0}, .task_state = state};
}

WaitFacts KernelThread(std::uint32_t state, bool iowait = false) {
  return {.task_state = state, .iowait = iowait, .kernel_thread = true};
}

TEST(WaitReasonTest, Table) {
  const std::vector<Case> cases = {
      {"futex", In(__NR_futex), kLock},
      {"futex, freezable", In(__NR_futex, kSFreezable), kLock},
      {"futex, on the way to it", In(__NR_futex, kD), kKernel},
      {"futex, its page is read", In(__NR_futex, kD, true), kIo},
      {"futex, spinlock of a real-time kernel", In(__NR_futex, kRtLock), kKernel},
      {"futex_waitv", In(__NR_futex_waitv), kLock},
      {"futex_wait", In(455), kLock},
      {"semop", In(__NR_semop), kLock},
      {"semtimedop", In(__NR_semtimedop), kLock},
      {"flock", In(__NR_flock), kLock},
      {"flock over a network", In(__NR_flock, kDKillable), kLock},
      {"fcntl F_SETLKW", Fcntl(F_SETLKW), kLock},
      {"fcntl F_OFD_SETLKW", Fcntl(F_OFD_SETLKW), kLock},
      {"fcntl F_SETLKW over a network", Fcntl(F_SETLKW, kDKillable), kLock},
      {"fcntl F_SETLK", Fcntl(F_SETLK), kOther},
      {"fcntl F_GETFL", Fcntl(F_GETFL, kD), kKernel},

      {"read of a pipe", On(__NR_read, PROFD_FD_PIPE), kPipe},
      {"write to a pipe", On(__NR_write, PROFD_FD_PIPE), kPipe},
      {"write to a pipe, on the way to it", On(__NR_write, PROFD_FD_PIPE, kD), kKernel},
      {"splice from a pipe", On(__NR_splice, PROFD_FD_PIPE), kPipe},
      {"vmsplice", On(__NR_vmsplice, PROFD_FD_PIPE), kPipe},
      {"tee", On(__NR_tee, PROFD_FD_PIPE), kPipe},
      {"read of a socket", On(__NR_read, PROFD_FD_SOCKET), kNet},
      {"writev to a socket", On(__NR_writev, PROFD_FD_SOCKET), kNet},
      {"sendfile to a socket", On(__NR_sendfile, PROFD_FD_SOCKET), kNet},
      {"sendfile to a socket, file is read", On(__NR_sendfile, PROFD_FD_SOCKET, kD, true), kIo},
      {"read of a file", On(__NR_read, PROFD_FD_REGULAR, kD, true), kIo},
      {"write to a file, its lock", On(__NR_write, PROFD_FD_REGULAR, kD), kIo},
      {"read over a network", On(__NR_pread64, PROFD_FD_REGULAR, kDKillable), kIo},
      {"read of a file in user space", On(__NR_readv, PROFD_FD_REGULAR, kS), kIo},
      {"pwrite", On(__NR_pwrite64, PROFD_FD_BLOCK, kD, true), kIo},
      {"preadv", On(__NR_preadv, PROFD_FD_REGULAR, kD), kIo},
      {"pwritev", On(__NR_pwritev, PROFD_FD_REGULAR, kD), kIo},
      {"preadv2", On(__NR_preadv2, PROFD_FD_REGULAR, kD), kIo},
      {"pwritev2", On(__NR_pwritev2, PROFD_FD_REGULAR, kD), kIo},
      {"copy_file_range", On(__NR_copy_file_range, PROFD_FD_REGULAR, kD), kIo},
      {"read of a directory", On(__NR_read, PROFD_FD_DIRECTORY, kD), kIo},
      {"read of a character device", On(__NR_read, PROFD_FD_CHAR), kDriver},
      {"write to a character device", On(__NR_write, PROFD_FD_CHAR, kD), kDriver},
      {"read of an eventfd", On(__NR_read, PROFD_FD_EVENTFD), kPoll},
      {"read of a timerfd", On(__NR_read, PROFD_FD_TIMERFD), kSleep},
      {"read of a signalfd", On(__NR_read, PROFD_FD_SIGNALFD), kSleep},
      {"read of something else", On(__NR_read, PROFD_FD_OTHER), kOther},
      {"read of something unknown", On(__NR_read, PROFD_FD_NONE), kOther},
      {"read of something else, stuck", On(__NR_read, PROFD_FD_OTHER, kD), kKernel},
      {"read of something else, io", On(__NR_read, PROFD_FD_OTHER, kD, true), kIo},

      {"fsync", In(__NR_fsync, kD), kIo},
      {"fsync, iowait", In(__NR_fsync, kD, true), kIo},
      {"fdatasync", In(__NR_fdatasync, kD), kIo},
      {"msync", In(__NR_msync, kD), kIo},
      {"sync", In(__NR_sync, kD), kIo},
      {"syncfs", In(__NR_syncfs, kD), kIo},
      {"sync_file_range", In(__NR_sync_file_range, kD), kIo},
      {"fallocate", In(__NR_fallocate, kD), kIo},
      {"ftruncate", In(__NR_ftruncate, kD), kIo},
      {"truncate", In(__NR_truncate, kD), kIo},
      {"getdents64", In(__NR_getdents64, kD), kIo},
      {"readahead", In(__NR_readahead, kD), kIo},
      {"io_getevents", In(__NR_io_getevents), kIo},
      {"io_pgetevents", In(__NR_io_pgetevents), kIo},

      {"ioctl", In(__NR_ioctl), kDriver},
      {"ioctl, uninterruptible", In(__NR_ioctl, kD), kDriver},
      {"ioctl, iowait", In(__NR_ioctl, kD, true), kDriver},

      {"poll", Among(__NR_poll, 0x1000, 1), kPoll},
      {"poll of nothing", Among(__NR_poll, 0x1000, 0), kSleep},
      {"ppoll", Among(__NR_ppoll, 0x1000, 1), kPoll},
      {"ppoll of nothing", Among(__NR_ppoll, 0x1000, 0), kSleep},
      {"select", Among(__NR_select, 4, 0), kPoll},
      {"select of nothing", Among(__NR_select, 0, 0x1000), kSleep},
      {"pselect6", Among(__NR_pselect6, 4, 0), kPoll},
      {"pselect6 of nothing", Among(__NR_pselect6, 0, 0), kSleep},
      {"epoll_wait", In(__NR_epoll_wait), kPoll},
      {"epoll_pwait", In(__NR_epoll_pwait), kPoll},
      {"epoll_pwait2", In(__NR_epoll_pwait2), kPoll},
      {"io_uring_enter", In(__NR_io_uring_enter), kPoll},
      {"io_uring_enter with requests under way", In(__NR_io_uring_enter, kS, true), kIo},

      {"nanosleep", In(__NR_nanosleep), kSleep},
      {"clock_nanosleep", In(__NR_clock_nanosleep, kSFreezable), kSleep},
      {"pause", In(__NR_pause), kSleep},
      {"sigsuspend", In(__NR_rt_sigsuspend), kSleep},
      {"sigtimedwait", In(__NR_rt_sigtimedwait), kSleep},

      {"accept", In(__NR_accept), kNet},
      {"accept4", In(__NR_accept4), kNet},
      {"connect", In(__NR_connect), kNet},
      {"recvfrom", In(__NR_recvfrom), kNet},
      {"recvfrom, another has the socket", In(__NR_recvfrom, kD), kKernel},
      {"recvmsg", In(__NR_recvmsg), kNet},
      {"recvmmsg", In(__NR_recvmmsg), kNet},
      {"sendto", In(__NR_sendto), kNet},
      {"sendmsg", In(__NR_sendmsg), kNet},
      {"sendmmsg", In(__NR_sendmmsg), kNet},

      {"wait4", In(__NR_wait4), kChild},
      {"waitid", In(__NR_waitid), kChild},
      {"vfork", In(__NR_vfork, kDKillable), kChild},
      {"clone, vfork", In(__NR_clone, kDKillableFreezable), kChild},
      {"clone3, vfork", In(__NR_clone3, kDKillable), kChild},
      {"clone, a lock", In(__NR_clone, kD), kKernel},

      {"munmap", In(__NR_munmap, kD), kKernel},
      {"openat", In(__NR_openat, kD, true), kIo},
      {"openat of a named pipe", In(__NR_openat), kOther},
      {"execve", In(__NR_execve, kDKillable), kKernel},
      {"msgrcv", In(__NR_msgrcv), kOther},
      {"mq_timedreceive", In(__NR_mq_timedreceive), kOther},
      {"restart_syscall", In(__NR_restart_syscall), kOther},
      {"a number that is none", In(100'000), kOther},
      {"the greatest number", In(0x7fffffff, kD), kKernel},

      {"page fault that reads", In(-1, kD, true), kIo},
      {"page fault", In(-1, kD), kFault},
      {"page fault, killable", In(-1, kDKillable), kFault},
      {"page fault served in user space", In(-1, kS), kFault},
      {"stopped", In(-1, kStopped), kOther},
      {"stopped in a syscall", In(__NR_futex, kStopped), kOther},
      {"traced", In(__NR_ioctl, kTraced), kOther},

      {"kernel thread, idle", KernelThread(kIdle), kOther},
      {"kernel thread, waits for work", KernelThread(kS), kOther},
      {"kernel thread, stuck", KernelThread(kD), kKernel},
      {"kernel thread, writes", KernelThread(kD, true), kIo},
      {"kernel thread, parked", KernelThread(kParked), kOther},
  };
  std::set<std::string> names;
  for (const Case& c : cases) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_EQ(ReasonFor(c.facts), c.reason) << c.name;
  }
}

// A thread that does not wait has no reason; one that does always has.
TEST(WaitReasonTest, NoWaitIsWithoutAReason) {
  for (std::int32_t syscall = -1; syscall < 600; ++syscall) {
    for (std::uint16_t fd_kind = 0; fd_kind <= PROFD_FD_DIRECTORY; ++fd_kind) {
      for (const std::uint32_t state :
           {kS, kD, kDKillable, kIdle, kStopped, kRtLock, 0x80000000u}) {
        const WaitReason reason = ReasonFor(On(syscall, fd_kind, state));
        EXPECT_NE(reason, kNone);
        EXPECT_NE(reason, kGil);
      }
    }
  }
}

}  // namespace
}  // namespace profd::process
