// PseudoTerminal: a program on a terminal of its own.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/unique_fd.h"
#include "tests/e2e/screen_model.h"

namespace profd::e2e {

class PseudoTerminal {
 public:
  PseudoTerminal(const std::vector<std::string>& command, unsigned short columns,
                 unsigned short rows) {
    const winsize size{rows, columns, 0, 0};
    int master = -1;
    int slave = -1;
    if (::openpty(&master, &slave, nullptr, nullptr, &size) != 0) return;
    master_.Reset(master);
    slave_.Reset(slave);
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    ::tcgetattr(slave, &before_);
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::signal(SIGHUP, SIG_DFL);  // nohup, which may run the test, has it ignored
    ::login_tty(slave);
    ::setenv("TERM", "xterm", 1);
    ::setenv("PROFD_HOST", "", 1);
    ::unsetenv("NO_COLOR");
    std::vector<char*> arguments;
    for (const std::string& argument : command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void Type(const std::string& keys) const {
    [[maybe_unused]] const ssize_t written = ::write(master_.get(), keys.data(), keys.size());
  }
  void Signal(int number) const { ::kill(pid_, number); }
  void Resize(unsigned short columns, unsigned short rows) const {
    const winsize size{rows, columns, 0, 0};
    ::ioctl(master_.get(), TIOCSWINSZ, &size);
  }

  // Until the screen is as wanted; false: the program ended before, or a minute has passed.
  template <typename Wanted>
  [[nodiscard]] bool WaitFor(Wanted wanted) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!wanted(screen_)) {
      if (ended_ && !Pump(0)) return false;
      if (std::chrono::steady_clock::now() > until) return false;
      if (!ended_) Pump(50);
      if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    }
    return true;
  }
  [[nodiscard]] bool WaitForText(const std::string& text) {
    return WaitFor(
        [&](const ScreenModel& screen) { return screen.Text().find(text) != std::string::npos; });
  }
  // As the shell has it; -1: it does not end.
  [[nodiscard]] int WaitForExit() {
    (void)WaitFor([](const ScreenModel&) { return false; });
    if (!ended_) return -1;
    pid_ = -1;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  // The terminal is as it was before the program, and shows what it showed.
  [[nodiscard]] bool Restored() const {
    termios now{};
    ::tcgetattr(slave_.get(), &now);
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag &&
           now.c_oflag == before_.c_oflag && !screen_.alternate() && screen_.cursor_shown();
  }
  [[nodiscard]] const ScreenModel& screen() const { return screen_; }
  // All that has been written to it, also what is gone from the screen.
  [[nodiscard]] const std::string& written() const { return written_; }

 private:
  // False: nothing came in that time.
  bool Pump(int timeout_ms) {
    pollfd fd{master_.get(), POLLIN, 0};
    if (::poll(&fd, 1, timeout_ms) <= 0) return false;
    char bytes[4096];
    const ssize_t got = ::read(master_.get(), bytes, sizeof bytes);
    if (got <= 0) return false;
    written_.append(bytes, static_cast<std::size_t>(got));
    screen_.Take({bytes, static_cast<std::size_t>(got)});
    return true;
  }

  UniqueFd master_;
  UniqueFd slave_;  // kept open: its settings are looked at when the program has ended
  termios before_{};
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
  ScreenModel screen_;
  std::string written_;
};

}  // namespace profd::e2e
