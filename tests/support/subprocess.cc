#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace profd::testing {
namespace {

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return ErrorFromErrno(errno, "pipe2");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Appends what is there; closes the descriptor at its end.
void ReadSome(UniqueFd& fd, std::string& text) {
  std::array<char, 65536> chunk;
  const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
  if (got > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(got));
  } else if (got == 0 || errno != EINTR) {
    fd.Reset();
  }
}

[[noreturn]] void Become(const std::vector<std::string>& command,
                         const SubprocessOptions& options) {
  if (options.own_process_group) ::setpgid(0, 0);
  if (options.uid != 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(options.gid) != 0 || ::setuid(options.uid) != 0)) {
    ::_exit(126);
  }
  if (!options.working_directory.empty() && ::chdir(options.working_directory.c_str()) != 0) {
    ::_exit(126);
  }
  for (const auto& [name, value] : options.environment) {
    if (value.empty()) {
      ::unsetenv(name.c_str());
    } else {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

Result<Subprocess> Subprocess::Start(const std::vector<std::string>& command,
                                     const SubprocessOptions& options) {
  auto input = MakePipe();
  auto out = MakePipe();
  auto err = MakePipe();
  if (!input) return input.error();
  if (!out) return out.error();
  if (!err) return err.error();
  const pid_t pid = ::fork();
  if (pid < 0) return ErrorFromErrno(errno, "fork");
  if (pid == 0) {
    ::dup2(input->read_end.get(), STDIN_FILENO);
    ::dup2(out->write_end.get(), STDOUT_FILENO);
    ::dup2(err->write_end.get(), STDERR_FILENO);
    Become(command, options);
  }
  Subprocess process;
  process.pid_ = pid;
  process.input_ = std::move(input->write_end);
  process.out_fd_ = std::move(out->read_end);
  process.err_fd_ = std::move(err->read_end);
  return process;
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      out_fd_(std::move(other.out_fd_)),
      err_fd_(std::move(other.err_fd_)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      out_read_(other.out_read_) {}

Subprocess::~Subprocess() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool Subprocess::Pump() {
  std::array<pollfd, 2> polled = {pollfd{out_fd_.get(), POLLIN, 0},
                                  pollfd{err_fd_.get(), POLLIN, 0}};
  if (!out_fd_.valid() && !err_fd_.valid()) return false;
  if (::poll(polled.data(), polled.size(), -1) < 0) return errno == EINTR;
  if (polled[0].revents != 0) ReadSome(out_fd_, out_);
  if (polled[1].revents != 0) ReadSome(err_fd_, err_);
  return true;
}

Result<std::string> Subprocess::ReadLine() {
  while (true) {
    const std::size_t end = out_.find('\n', out_read_);
    if (end != std::string::npos) {
      std::string line = out_.substr(out_read_, end + 1 - out_read_);
      out_read_ = end + 1;
      return line;
    }
    if (!out_fd_.valid() || !Pump()) {
      return Error{ErrorCode::kUnavailable, "stdout ended; stderr: " + err_, ""};
    }
  }
}

Result<void> Subprocess::WaitForStderr(const std::string& text) {
  while (err_.find(text) == std::string::npos) {
    if (!err_fd_.valid() || !Pump()) {
      return Error{ErrorCode::kUnavailable, "stderr ended without '" + text + "': " + err_, ""};
    }
  }
  return {};
}

void Subprocess::WriteInput(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t got = ::write(input_.get(), text.data() + written, text.size() - written);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    written += static_cast<std::size_t>(got);
  }
}

void Subprocess::Signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

Outcome Subprocess::Wait() {
  while (Pump()) {
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = out_;
  outcome.err = err_;
  return outcome;
}

Outcome Run(const std::vector<std::string>& command, const SubprocessOptions& options) {
  auto process = Subprocess::Start(command, options);
  if (!process) return Outcome{127, "", process.error().message};
  process->CloseInput();
  return process->Wait();
}

}  // namespace profd::testing
