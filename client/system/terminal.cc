#include "client/system/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace profd::client {
namespace {

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

std::size_t WidthOf(int fd) {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kLeast = 20;
  constexpr std::size_t kMost = 1000;
  std::size_t width = 0;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  if (width == 0) {
    const std::string_view columns = Environment("COLUMNS");
    std::from_chars(columns.data(), columns.data() + columns.size(), width);
  }
  return width == 0 ? kUsual : std::clamp(width, kLeast, kMost);
}

Result<ColorChoice> ParseColorChoice(std::string_view text) {
  if (text == "auto") return ColorChoice::kAuto;
  if (text == "always") return ColorChoice::kAlways;
  if (text == "never") return ColorChoice::kNever;
  return Error{ErrorCode::kInvalidArgument, "--color " + std::string(text) + ": no such choice",
               "it is auto, always or never"};
}

bool UseColor(ColorChoice choice, int fd) {
  if (choice != ColorChoice::kAuto) return choice == ColorChoice::kAlways;
  return IsTerminal(fd) && Environment("NO_COLOR").empty() && Environment("TERM") != "dumb";
}

}  // namespace profd::client
