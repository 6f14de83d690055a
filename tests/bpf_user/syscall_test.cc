// Tables of syscalls and kinds of files, held against the system's own headers and real files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>

#include "bpf/shared/events.h"
#include "daemon/base/unique_fd.h"
#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

std::uint32_t ModeKind(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return user_kind_of_mode(status.st_mode);
}

// What /proc says of an anonymous file, "anon_inode:[eventfd]", after the colon: the name the
// BPF side reads.
std::uint32_t AnonymousKind(int fd) {
  const std::string link =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
  std::string name = link.substr(link.find(':') + 1);
  name.resize(8);
  return user_anonymous_kind(name.c_str());
}

TEST(SyscallTest, WaitingSyscallsWhoseFirstArgumentIsAFile) {
  for (const long number :
       {SYS_read,      SYS_write,      SYS_readv,     SYS_writev,        SYS_pread64,
        SYS_pwrite64,  SYS_preadv,     SYS_pwritev,   SYS_preadv2,       SYS_pwritev2,
        SYS_ioctl,     SYS_fsync,      SYS_fdatasync, SYS_flock,         SYS_fcntl,
        SYS_accept,    SYS_accept4,    SYS_connect,   SYS_sendto,        SYS_recvfrom,
        SYS_sendmsg,   SYS_recvmsg,    SYS_sendmmsg,  SYS_recvmmsg,      SYS_sendfile,
        SYS_splice,    SYS_tee,        SYS_vmsplice,  SYS_epoll_wait,    SYS_epoll_pwait,
        SYS_ftruncate, SYS_getdents64, SYS_syncfs,    SYS_fallocate,     SYS_sync_file_range,
        SYS_close,     SYS_shutdown,   SYS_readahead, SYS_epoll_pwait2,  SYS_copy_file_range,
        SYS_getdents,  SYS_lseek,      SYS_fstat,     SYS_io_uring_enter})
    EXPECT_TRUE(user_takes_fd(number)) << number;
}

TEST(SyscallTest, SyscallsWhoseFirstArgumentIsSomethingElse) {
  for (const long number :
       {SYS_futex, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_nanosleep,
        SYS_clock_nanosleep, SYS_wait4, SYS_waitid, SYS_pause, SYS_open, SYS_mmap, SYS_msync,
        SYS_sched_yield, SYS_exit_group, SYS_rt_sigtimedwait, SYS_semop, SYS_msgrcv})
    EXPECT_FALSE(user_takes_fd(number)) << number;
  EXPECT_FALSE(user_takes_fd(-1));
}

TEST(SyscallTest, KindsOfRealFiles) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const UniqueFd read_end(pipe_ends[0]);
  const UniqueFd write_end(pipe_ends[1]);
  EXPECT_EQ(ModeKind(read_end.get()), PROFD_FD_PIPE);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(ModeKind(socket.get()), PROFD_FD_SOCKET);
  const UniqueFd regular(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ModeKind(regular.get()), PROFD_FD_REGULAR);
  const UniqueFd directory(::open("/", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ModeKind(directory.get()), PROFD_FD_DIRECTORY);
  const UniqueFd device(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ModeKind(device.get()), PROFD_FD_CHAR);
  EXPECT_EQ(user_kind_of_mode(S_IFBLK | 0600), PROFD_FD_BLOCK);
  EXPECT_EQ(user_kind_of_mode(0600), PROFD_FD_OTHER);
}

TEST(SyscallTest, KindsOfAnonymousFiles) {
  const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
  EXPECT_EQ(AnonymousKind(event.get()), PROFD_FD_EVENTFD);
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  EXPECT_EQ(AnonymousKind(timer.get()), PROFD_FD_TIMERFD);
  sigset_t signals;
  sigemptyset(&signals);
  const UniqueFd signal(::signalfd(-1, &signals, SFD_CLOEXEC));
  EXPECT_EQ(AnonymousKind(signal.get()), PROFD_FD_SIGNALFD);
  const UniqueFd poll(::epoll_create1(EPOLL_CLOEXEC));
  EXPECT_EQ(AnonymousKind(poll.get()), PROFD_FD_OTHER);
}

}  // namespace
}  // namespace profd
