#include "daemon/source/bpf/iterator.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "daemon/base/unique_fd.h"

namespace profd::source {
namespace {

constexpr std::size_t kChunkBytes = 65'536;
// A machine of 100,000 threads with deep stacks; what is beyond is given up.
constexpr std::size_t kMaxBytes = 256u << 20;

Result<UniqueFd> OpenIterator(int link_fd) {
  UniqueFd fd(::bpf_iter_create(link_fd));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot create a task iterator");
  return fd;
}

// Appends one read. False at the end.
Result<bool> ReadChunk(int fd, std::vector<std::byte>* bytes) {
  const std::size_t before = bytes->size();
  bytes->resize(before + kChunkBytes);
  ssize_t got = 0;
  do {
    got = ::read(fd, bytes->data() + before, kChunkBytes);
  } while (got < 0 && (errno == EINTR || errno == EAGAIN));
  const int error = errno;
  bytes->resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return ErrorFromErrno(error, "cannot read a task iterator");
  return got > 0 && bytes->size() < kMaxBytes;
}

// Closes all files but these two: a reader that hangs must not keep our sockets open.
void CloseAllBut(int a, int b) {
  const auto low = static_cast<unsigned>(std::min(a, b));
  const auto high = static_cast<unsigned>(std::max(a, b));
  if (low > 0) ::syscall(SYS_close_range, 0u, low - 1, 0u);
  if (high > low + 1) ::syscall(SYS_close_range, low + 1, high - 1, 0u);
  ::syscall(SYS_close_range, high + 1, ~0u, 0u);
}

// The whole life of the reading process. Nothing here may allocate, lock, or touch what other
// threads of the parent might have been holding when it was forked; sanitizers intercept read and
// write, hence the bare system calls.
[[noreturn]] void CopyLoop(int from, int to, pid_t parent, std::span<char> buffer) {
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  ::syscall(SYS_prctl, PR_SET_NAME, "profd-snapshot", 0, 0, 0);
  if (::syscall(SYS_getppid) != parent) ::syscall(SYS_exit_group, 1);
  CloseAllBut(from, to);
  while (true) {
    const long got = ::syscall(SYS_read, from, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) ::syscall(SYS_exit_group, got == 0 ? 0 : 1);
    for (long written = 0; written < got;) {
      const long put = ::syscall(SYS_write, to, buffer.data() + written, got - written);
      if (put <= 0) ::syscall(SYS_exit_group, 1);
      written += put;
    }
  }
}

// Reads the pipe to its end or until the deadline.
Result<KillableReader::Outcome> ReadInTime(int fd, std::chrono::steady_clock::time_point deadline) {
  KillableReader::Outcome outcome;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{fd, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (count < 0 && errno == EINTR) continue;
    outcome.timed_out = count <= 0;
    if (outcome.timed_out) return outcome;
    const auto more = ReadChunk(fd, &outcome.bytes);
    if (!more) return more.error();
    if (!*more) return outcome;
  }
}

// Keeps signals away from the child, whose handlers would be ours.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;
  ~BlockSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

Result<std::vector<std::byte>> ReadIterator(int link_fd) {
  const auto iterator = OpenIterator(link_fd);
  if (!iterator) return iterator.error();
  std::vector<std::byte> bytes;
  while (true) {
    const auto more = ReadChunk(iterator->get(), &bytes);
    if (!more) return more.error();
    if (!*more) return bytes;
  }
}

void KillableReader::Reap() {
  std::erase_if(left_behind_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

Result<KillableReader::Outcome> KillableReader::Read(int link_fd,
                                                     std::chrono::milliseconds timeout) {
  Reap();
  auto iterator = OpenIterator(link_fd);
  if (!iterator) return iterator.error();
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ErrorFromErrno(errno, "cannot make a pipe");
  const UniqueFd from(ends[0]);
  UniqueFd to(ends[1]);
  std::vector<char> buffer(kChunkBytes);

  pid_t pid = 0;
  {
    const BlockSignals blocked;
    const pid_t self = ::getpid();
    pid = ::_Fork();  // runs no handlers of pthread_atfork
    if (pid == 0) CopyLoop(iterator->get(), to.get(), self, buffer);
  }
  if (pid < 0) return ErrorFromErrno(errno, "cannot start the snapshot's process");
  to.Reset();
  iterator->Reset();
  auto outcome = ReadInTime(from.get(), std::chrono::steady_clock::now() + timeout);
  if (!outcome || outcome->timed_out) {
    ::kill(pid, SIGKILL);
    left_behind_.push_back(pid);
  } else {
    ::waitpid(pid, nullptr, 0);  // it has closed the pipe and is ending
  }
  return outcome;
}

std::vector<wire::EventBytes> SplitEvents(std::span<const std::byte> bytes, bool* malformed) {
  std::vector<wire::EventBytes> events;
  while (!bytes.empty()) {
    profd_event header{};
    *malformed = !wire::ReadHeader(bytes, &header);
    if (*malformed) return events;
    events.emplace_back(bytes.begin(), bytes.begin() + header.size);
    bytes = bytes.subspan(header.size);
  }
  *malformed = false;
  return events;
}

}  // namespace profd::source
