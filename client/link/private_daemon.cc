#include "client/link/private_daemon.h"

#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "client/system/command_child.h"
#include "client/system/exit_code.h"
#include "client/system/pipe.h"
#include "daemon/base/proc/proc_fs.h"

namespace profd::client {
namespace {

constexpr int kStartTimeoutMs = 60'000;  // BPF programs of a loaded host under emulation
constexpr int kEndTimeoutMs = 10'000;
constexpr std::size_t kMaxWords = 16'384;

// The arguments of posix_spawn, destroyed with the scope.
class SpawnSetup {
 public:
  explicit SpawnSetup(const sigset_t& signal_mask) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::sigaddset(&defaults, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setsigmask(&attributes_, &signal_mask);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  void Redirect(int fd, int to) { ::posix_spawn_file_actions_adddup2(&actions_, fd, to); }
  [[nodiscard]] int Spawn(const std::string& program, char* const* arguments, pid_t& pid) {
    return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments, environ);
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<std::unique_ptr<PrivateDaemon>> PrivateDaemon::Start(const std::string& program,
                                                            const sigset_t& signal_mask,
                                                            Console& console,
                                                            TempFiles& temp_files) {
  std::unique_ptr<PrivateDaemon> daemon(new PrivateDaemon(console, temp_files));
  PROFD_TRY(daemon->MakeDirectory());
  PROFD_TRY(daemon->Spawn(program, signal_mask));
  PROFD_TRY(daemon->WaitUntilReady());
  return daemon;
}

PrivateDaemon::~PrivateDaemon() {
  stdin_.Reset();
  if (pid_ > 0 && !WaitForEnd(kEndTimeoutMs)) {
    ::kill(pid_, SIGKILL);
    (void)WaitForEnd(-1);
  }
  if (words_thread_.joinable()) words_thread_.join();
  RemoveDirectory();
}

Result<void> PrivateDaemon::MakeDirectory() {
  // Short names first: the path of a socket holds 107 bytes.
  for (const char* parent : {"/run", "/tmp"}) {
    std::string pattern = std::string(parent) + "/profctl-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) continue;
    directory_ = pattern;
    socket_ = directory_ + "/profd.sock";
    address_ = "unix:" + socket_;
    temp_files_.Add(directory_);
    temp_files_.Add(socket_);
    return {};
  }
  return ErrorFromErrno(errno, "cannot make a directory for a private profd in /run or /tmp");
}

void PrivateDaemon::RemoveDirectory() {
  if (directory_.empty()) return;
  ::unlink(socket_.c_str());
  ::rmdir(directory_.c_str());
  temp_files_.Forget(socket_);
  temp_files_.Forget(directory_);
  directory_.clear();
}

Result<void> PrivateDaemon::Spawn(const std::string& program, const sigset_t& signal_mask) {
  Result<Pipe> in = MakePipe();
  Result<Pipe> out = MakePipe();
  Result<Pipe> words = MakePipe();
  for (const Result<Pipe>* pipe : {&in, &out, &words})
    if (!*pipe) return pipe->error();
  SpawnSetup setup(signal_mask);
  setup.Redirect(in->read.get(), STDIN_FILENO);
  setup.Redirect(out->write.get(), STDOUT_FILENO);
  setup.Redirect(words->write.get(), STDERR_FILENO);
  std::array<std::string, 4> arguments{"profd", "--private", "--listen", address_};
  std::array<char*, 5> argument_pointers{arguments[0].data(), arguments[1].data(),
                                         arguments[2].data(), arguments[3].data(), nullptr};
  if (const int error_number = setup.Spawn(program, argument_pointers.data(), pid_);
      error_number != 0) {
    pid_ = -1;
    return ErrorFromErrno(error_number, "cannot run " + program);
  }
  pid_fd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  stdin_ = std::move(in->write);
  stdout_ = std::move(out->read);
  words_thread_ = std::jthread([this, fd = std::move(words->read)] { ReadWords(fd.get()); });
  if (!pid_fd_.valid()) return ErrorFromErrno(errno, "cannot watch " + program);
  return {};
}

Result<void> PrivateDaemon::WaitUntilReady() {
  constexpr std::string_view kReady = "ready\n";
  std::string said;
  while (said.size() < kReady.size()) {
    pollfd poll_fd{stdout_.get(), POLLIN, 0};
    const int ready = ::poll(&poll_fd, 1, kStartTimeoutMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Error{ErrorCode::kUnavailable, "the private profd does not answer", ""};
    std::array<char, 16> chunk;
    const ssize_t got = ::read(stdout_.get(), chunk.data(), kReady.size() - said.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return ErrorOfDaemon();
    said.append(chunk.data(), static_cast<std::size_t>(got));
  }
  if (said != kReady)
    return Error{ErrorCode::kUnavailable, "the private profd speaks another language", ""};
  return {};
}

bool PrivateDaemon::WaitForEnd(int timeout_ms) {
  if (pid_ <= 0) return true;
  pollfd poll_fd{pid_fd_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&poll_fd, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return false;
  while (::waitpid(pid_, &wait_status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return true;
}

std::string PrivateDaemon::HowItEnded() {
  if (!WaitForEnd(0)) return {};
  if (WIFSIGNALED(wait_status_))
    return "was killed by signal " + std::to_string(WTERMSIG(wait_status_));
  return "ended with exit code " + std::to_string(ExitCodeOfWaitStatus(wait_status_));
}

Error PrivateDaemon::ErrorOfDaemon() {
  stdin_.Reset();
  if (!WaitForEnd(kEndTimeoutMs))
    return Error{ErrorCode::kUnavailable, "the private profd hangs at its start", ""};
  words_thread_.join();
  const ErrorCode code = ErrorCodeOfExit(ExitCodeOfWaitStatus(wait_status_));
  // profd says "profd: what: why" and, on the next line, what to do.
  constexpr std::string_view kPrefix = "profd: ";
  std::string_view text = words_;
  const std::size_t last = text.rfind("\nprofd: ");
  if (last != std::string_view::npos) text.remove_prefix(last + 1);
  if (!text.starts_with(kPrefix))
    return Error{code, "the private profd " + HowItEnded(),
                 text.empty() ? "" : "it said: " + std::string(text.substr(0, text.find('\n')))};
  text.remove_prefix(kPrefix.size());
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  Error error{code, std::string(text.substr(0, line_end)), ""};
  text.remove_prefix(std::min(line_end + 1, text.size()));
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  error.hint = text.substr(0, text.find('\n'));
  return error;
}

void PrivateDaemon::ReadWords(int fd) {
  std::array<char, 4096> chunk;
  std::string line;
  while (true) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const std::string_view text(chunk.data(), static_cast<std::size_t>(got));
    const std::scoped_lock lock(words_mutex_);
    words_.append(text);
    if (words_.size() > kMaxWords) words_.erase(0, words_.size() - kMaxWords);
    line.append(text);
    for (std::size_t end = line.find('\n'); end != std::string::npos; end = line.find('\n')) {
      console_.Explain(line.substr(0, end));
      line.erase(0, end + 1);
    }
    if (line.size() > kMaxWords) line.clear();
  }
}

Result<std::string> FindDaemonProgram() {
  if (const Result<std::string> self = ProcFs().ReadLink("self/exe")) {
    std::string beside = self->substr(0, self->rfind('/') + 1) + "profd";
    if (::access(beside.c_str(), X_OK) == 0) return beside;
  }
  const char* path = std::getenv("PATH");
  std::string found = FindProgram("profd", path == nullptr ? "" : path);
  if (!found.empty()) return found;
  return Error{ErrorCode::kUnavailable, "no profd is running, and there is none to run",
               "install it beside profctl or in PATH, or name a host with --host"};
}

}  // namespace profd::client
