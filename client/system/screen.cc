#include "client/system/screen.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "client/system/terminal.h"
#include "daemon/base/files.h"

namespace profd::client {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";  // 7: no wrapping of long lines
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";

}  // namespace

Result<UniqueFd> WindowChanges() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGWINCH);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return ErrorFromErrno(errno, "cannot watch for signals");
  return fd;
}

Result<Screen> Screen::Open(int keys_fd, int screen_fd) {
  termios before{};
  if (!IsTerminal(screen_fd) || ::tcgetattr(keys_fd, &before) != 0)
    return Error{ErrorCode::kUnavailable, "there is no terminal to draw on", ""};
  Screen screen(keys_fd, screen_fd, before);
  termios raw = before;
  ::cfmakeraw(&raw);
  raw.c_cc[VMIN] = 0;  // the reader has polled
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(keys_fd, TCSAFLUSH, &raw) != 0)
    return ErrorFromErrno(errno, "cannot take the terminal's keys");
  PROFD_TRY(screen.Write(kEnter));
  return screen;
}

Screen::Screen(Screen&& other) noexcept
    : keys_fd_(std::exchange(other.keys_fd_, -1)),
      screen_fd_(other.screen_fd_),
      before_(other.before_) {}

Screen::~Screen() {
  if (keys_fd_ < 0) return;
  // There is nowhere to report that the terminal has gone.
  (void)Write(kLeave);
  ::tcsetattr(keys_fd_, TCSAFLUSH, &before_);
}

std::size_t Screen::width() const { return WidthOf(screen_fd_); }

std::size_t Screen::height() const {
  constexpr std::size_t kUsual = 24;
  winsize size{};
  if (::ioctl(screen_fd_, TIOCGWINSZ, &size) != 0 || size.ws_row == 0) return kUsual;
  return size.ws_row;
}

Result<void> Screen::Show(const std::vector<std::string>& lines) const {
  // Overwritten in place, so that nothing flickers.
  std::string text = "\x1b[H";
  // Cleared before it is written: behind a full line the cursor stands on its last character.
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += (i == 0 ? "\x1b[K" : "\r\n\x1b[K") + lines[i];
  return Write(text + "\x1b[J");
}

Result<std::string> Screen::ReadKeys() const {
  std::array<char, 256> bytes;
  const ssize_t got = ::read(keys_fd_, bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return std::string();
  if (got < 0) return ErrorFromErrno(errno, "cannot read the terminal's keys");
  return std::string(bytes.data(), static_cast<std::size_t>(got));
}

Result<void> Screen::Write(std::string_view text) const {
  if (const int error = WriteAll(screen_fd_, text); error != 0)
    return ErrorFromErrno(error, "cannot write to the terminal");
  return {};
}

}  // namespace profd::client
