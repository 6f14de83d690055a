// Text from elsewhere, made fit for a terminal: names come from other processes and are hostile.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace profd::client {

// Valid UTF-8 with nothing in it that moves the cursor, changes colours or turns the direction of
// writing: each such byte or code point becomes `?`.
[[nodiscard]] std::string SafeText(std::string_view text);

// Columns that safe text takes on a terminal: wide (CJK, emoji) 2, combining 0, others 1. By a
// table of our own: the answer must not hang on the locale.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

// At most `width` columns, "..." in the place of what was in the middle. Text must be safe.
[[nodiscard]] std::string CutMiddle(std::string_view text, std::size_t width);

// For lists "a 1 %, b 2 %": whole items from the front, then "..." if there is room for it, so that
// no number is cut.
[[nodiscard]] std::string CutList(std::string_view text, std::size_t width);

// Filled up with spaces to `width` columns, never cut.
[[nodiscard]] std::string PadRight(std::string_view text, std::size_t width);
[[nodiscard]] std::string PadLeft(std::string_view text, std::size_t width);

}  // namespace profd::client
