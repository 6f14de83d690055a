#include "client/system/command_child.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "client/system/pipe.h"

namespace profd::client {
namespace {

// Everything the child needs, made before the fork: between fork and exec only system calls are
// safe.
struct Prepared {
  std::vector<char*> arguments;  // into `command`, null at the end
  std::vector<std::string> settings;
  std::vector<char*> environment;     // into `settings`, null at the end
  std::vector<std::string> programs;  // files to try, as execvp does
};

bool IsOneOf(std::string_view setting, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (setting.starts_with(name) && setting.substr(name.size()).starts_with('=')) return true;
  return false;
}

std::vector<std::string> Environment(const std::optional<InvokingUser>& user) {
  std::vector<std::string> settings;
  for (char** at = environ; *at != nullptr; ++at) {
    if (user && IsOneOf(*at, {"SUDO_COMMAND", "SUDO_GID", "SUDO_UID", "SUDO_USER"})) continue;
    if (user && !user->name.empty() && IsOneOf(*at, {"HOME", "LOGNAME", "MAIL", "SHELL", "USER"}))
      continue;
    settings.emplace_back(*at);
  }
  if (user && !user->name.empty()) {
    settings.push_back("HOME=" + user->home);
    settings.push_back("LOGNAME=" + user->name);
    settings.push_back("SHELL=" + user->shell);
    settings.push_back("USER=" + user->name);
  }
  return settings;
}

std::vector<std::string> Candidates(const std::string& name, const std::string& path) {
  if (name.find('/') != std::string::npos) return {name};
  std::vector<std::string> candidates;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string directory = path.substr(begin, end - begin);
    candidates.push_back((directory.empty() ? "." : directory) + "/" + name);
    begin = end + 1;
  }
  return candidates;
}

std::string SearchPath() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
}

// The errno to report: that of a file that is there counts more than that of one that is not.
int Execute(const Prepared& prepared) {
  int error_number = ENOENT;
  for (const std::string& program : prepared.programs) {
    ::execve(program.c_str(), prepared.arguments.data(), prepared.environment.data());
    if (errno != ENOENT && errno != ENOTDIR) error_number = errno;
  }
  return error_number;
}

// Raw system calls: glibc's own wrappers talk to the other threads, which the child does not have.
bool Become(const InvokingUser& user) {
  return ::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) == 0 &&
         ::syscall(SYS_setresgid, user.gid, user.gid, user.gid) == 0 &&
         ::syscall(SYS_setresuid, user.uid, user.uid, user.uid) == 0;
}

[[noreturn]] void RunChild(const Prepared& prepared, const std::optional<InvokingUser>& user,
                           const sigset_t& signal_mask, int go, int error) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(go, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(0);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGXFSZ, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &signal_mask, nullptr);
  const int error_number = user && !Become(*user) ? errno : Execute(prepared);
  [[maybe_unused]] const ssize_t written = ::write(error, &error_number, sizeof(error_number));
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<CommandChild>> CommandChild::Fork(const std::vector<std::string>& command,
                                                         const std::optional<InvokingUser>& user,
                                                         const sigset_t& signal_mask) {
  Result<Pipe> go = MakePipe();
  if (!go) return go.error();
  Result<Pipe> error = MakePipe();
  if (!error) return error.error();
  Prepared prepared;
  for (const std::string& argument : command)
    prepared.arguments.push_back(const_cast<char*>(argument.c_str()));
  prepared.arguments.push_back(nullptr);
  prepared.settings = Environment(user);
  for (std::string& setting : prepared.settings) prepared.environment.push_back(setting.data());
  prepared.environment.push_back(nullptr);
  prepared.programs = Candidates(command.front(), SearchPath());

  const pid_t pid = ::fork();
  if (pid < 0) return ErrorFromErrno(errno, "cannot start " + command.front());
  if (pid == 0) {
    // The write end must go, or the child would wait for itself.
    go->write.Reset();
    RunChild(prepared, user, signal_mask, go->read.get(), error->write.get());
  }
  std::unique_ptr<CommandChild> child(new CommandChild);
  child->pid_ = pid;
  child->program_ = command.front();
  child->pid_fd_.Reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  child->go_ = std::move(go->write);
  child->error_ = std::move(error->read);
  if (!child->pid_fd_.valid()) return ErrorFromErrno(errno, "cannot watch " + command.front());
  return child;
}

CommandChild::~CommandChild() {
  go_.Reset();
  (void)Wait();
}

void CommandChild::Watch(std::function<void()> on_exit) {
  watcher_ = std::jthread([fd = pid_fd_.get(), on_exit = std::move(on_exit)] {
    pollfd poll_fd{fd, POLLIN, 0};
    while (::poll(&poll_fd, 1, -1) < 0 && errno == EINTR) {
    }
    on_exit();
  });
}

Result<void> CommandChild::Release() {
  const char byte = 1;
  if (::write(go_.get(), &byte, 1) != 1) return ErrorFromErrno(errno, "cannot run " + program_);
  go_.Reset();
  int error_number = 0;
  ssize_t got = 0;
  do {
    got = ::read(error_.get(), &error_number, sizeof(error_number));
  } while (got < 0 && errno == EINTR);
  if (got != sizeof(error_number)) return {};
  Error error = ErrorFromErrno(error_number, "cannot run " + program_);
  if (error_number == ENOENT && program_.find('/') == std::string::npos)
    error.message = "cannot run " + program_ + ": no such program in PATH";
  return error;
}

void CommandChild::Kill(int signal) const {
  // By the descriptor: the number may belong to another process by now.
  ::syscall(SYS_pidfd_send_signal, pid_fd_.get(), signal, nullptr, 0);
}

int CommandChild::Wait() {
  go_.Reset();  // one that was never released ends
  if (watcher_.joinable()) watcher_.join();
  if (!wait_status_) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    wait_status_ = status;
  }
  return *wait_status_;
}

std::string FindProgram(const std::string& name, const std::string& path) {
  for (const std::string& candidate : Candidates(name, path)) {
    struct stat status {};
    if (::stat(candidate.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) return candidate;
  }
  return {};
}

}  // namespace profd::client
