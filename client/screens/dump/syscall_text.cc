#include "client/screens/dump/syscall_text.h"

#include <sys/syscall.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

namespace profd::client {
namespace {

// What the first argument is, as far as it says what is waited for.
enum class First { kNothing, kDescriptor, kAddress, kPid };

struct Syscall {
  std::uint32_t number;
  std::string_view name;
  First first;
};

// Those that threads wait in.
constexpr Syscall kSyscalls[] = {
    {SYS_read, "read", First::kDescriptor},
    {SYS_write, "write", First::kDescriptor},
    {SYS_pread64, "pread64", First::kDescriptor},
    {SYS_pwrite64, "pwrite64", First::kDescriptor},
    {SYS_readv, "readv", First::kDescriptor},
    {SYS_writev, "writev", First::kDescriptor},
    {SYS_ioctl, "ioctl", First::kDescriptor},
    {SYS_fsync, "fsync", First::kDescriptor},
    {SYS_fdatasync, "fdatasync", First::kDescriptor},
    {SYS_sync_file_range, "sync_file_range", First::kDescriptor},
    {SYS_fallocate, "fallocate", First::kDescriptor},
    {SYS_flock, "flock", First::kDescriptor},
    {SYS_fcntl, "fcntl", First::kDescriptor},
    {SYS_accept, "accept", First::kDescriptor},
    {SYS_accept4, "accept4", First::kDescriptor},
    {SYS_connect, "connect", First::kDescriptor},
    {SYS_recvfrom, "recvfrom", First::kDescriptor},
    {SYS_recvmsg, "recvmsg", First::kDescriptor},
    {SYS_sendto, "sendto", First::kDescriptor},
    {SYS_sendmsg, "sendmsg", First::kDescriptor},
    {SYS_epoll_wait, "epoll_wait", First::kDescriptor},
    {SYS_epoll_pwait, "epoll_pwait", First::kDescriptor},
    {SYS_io_uring_enter, "io_uring_enter", First::kDescriptor},
    {SYS_poll, "poll", First::kNothing},
    {SYS_ppoll, "ppoll", First::kNothing},
    {SYS_select, "select", First::kNothing},
    {SYS_pselect6, "pselect6", First::kNothing},
    {SYS_futex, "futex", First::kAddress},
    {SYS_nanosleep, "nanosleep", First::kNothing},
    {SYS_clock_nanosleep, "clock_nanosleep", First::kNothing},
    {SYS_pause, "pause", First::kNothing},
    {SYS_rt_sigsuspend, "rt_sigsuspend", First::kNothing},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", First::kNothing},
    {SYS_wait4, "wait4", First::kPid},
    {SYS_waitid, "waitid", First::kNothing},
    {SYS_vfork, "vfork", First::kNothing},
    {SYS_clone, "clone", First::kNothing},
    {SYS_openat, "openat", First::kNothing},
    {SYS_mmap, "mmap", First::kNothing},
    {SYS_munmap, "munmap", First::kNothing},
    {SYS_sync, "sync", First::kNothing},
    {SYS_semtimedop, "semtimedop", First::kNothing},
    {SYS_msgrcv, "msgrcv", First::kNothing},
    {SYS_sched_yield, "sched_yield", First::kNothing},
    {SYS_restart_syscall, "restart_syscall", First::kNothing},
};

const Syscall* Find(std::uint32_t number) {
  const auto* const found = std::ranges::find(kSyscalls, number, &Syscall::number);
  return found == std::end(kSyscalls) ? nullptr : found;
}

std::string Hex(std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value, 16).ptr;
  return "0x" + std::string(std::begin(digits), end);
}

}  // namespace

std::string SyscallName(std::uint32_t number) {
  const Syscall* const known = Find(number);
  return known == nullptr ? "" : std::string(known->name);
}

std::string SyscallText(const v1::DumpThread& thread) {
  if (!thread.in_syscall()) return "";
  const Syscall* const known = Find(thread.syscall());
  if (known == nullptr) return "syscall " + std::to_string(thread.syscall());
  std::string name(known->name);
  if (thread.syscall_arg().empty()) return name;
  const std::uint64_t first = thread.syscall_arg(0);
  switch (known->first) {
    case First::kDescriptor:
      return name + " fd " + std::to_string(static_cast<std::int32_t>(first));
    case First::kAddress:
      return name + " " + Hex(first);
    case First::kPid:
      // -1: any child.
      if (static_cast<std::int32_t>(first) <= 0) return name;
      return name + " pid " + std::to_string(static_cast<std::int32_t>(first));
    case First::kNothing:
      break;
  }
  return name;
}

}  // namespace profd::client
