// Screen: the whole terminal, for a command that draws on it and reads keys.
#pragma once

#include <termios.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd::client {

// SIGWINCH as a descriptor that can be read when the window has changed. Made by the main thread
// before any other, as StopSignals: from then on the signal is blocked.
[[nodiscard]] Result<UniqueFd> WindowChanges();

// Plain ANSI, on the alternate screen, without a cursor and with keys as they come (Ctrl-C is one).
// While it exists, no other code may write to the terminal. The destructor leaves the terminal as
// it was. Used by one thread.
class Screen {
 public:
  // kUnavailable: one of them is no terminal.
  [[nodiscard]] static Result<Screen> Open(int keys_fd, int screen_fd);
  Screen(Screen&& other) noexcept;
  Screen& operator=(Screen&&) = delete;
  ~Screen();

  // Of this moment; 80 x 24 where the terminal does not say.
  [[nodiscard]] std::size_t width() const;
  [[nodiscard]] std::size_t height() const;
  // One line a row of the terminal, from the top; what was there is gone. An error: the terminal
  // is.
  [[nodiscard]] Result<void> Show(const std::vector<std::string>& lines) const;
  // What was typed; empty: nothing, or only for now. kUnavailable: nothing will come any more.
  [[nodiscard]] Result<std::string> ReadKeys() const;

 private:
  Screen(int keys_fd, int screen_fd, const termios& before)
      : keys_fd_(keys_fd), screen_fd_(screen_fd), before_(before) {}
  [[nodiscard]] Result<void> Write(std::string_view text) const;

  int keys_fd_;  // -1: moved from
  int screen_fd_;
  termios before_;
};

}  // namespace profd::client
