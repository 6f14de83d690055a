// What stands behind a file descriptor: a terminal or not, how wide, and whether it wants colour.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"

namespace profd::client {

[[nodiscard]] bool IsTerminal(int fd);

// Columns of the terminal; else $COLUMNS; else 80. At least 20.
[[nodiscard]] std::size_t WidthOf(int fd);

enum class ColorChoice { kAuto, kAlways, kNever };
[[nodiscard]] Result<ColorChoice> ParseColorChoice(std::string_view text);
// kAuto: on a terminal that is not "dumb", unless $NO_COLOR is set and not empty.
[[nodiscard]] bool UseColor(ColorChoice choice, int fd);

}  // namespace profd::client
