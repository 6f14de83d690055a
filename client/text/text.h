// Text from elsewhere, made fit for a terminal: names come from other processes and are hostile.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace profd::client {

// `?` for each byte that is not UTF-8 and for each code point that is unsafe to print.
[[nodiscard]] std::string SafeText(std::string_view text);

// Columns that safe text takes on a terminal: wide (CJK, emoji) 2, combining 0, others 1. The
// locale has no part in it.
[[nodiscard]] std::size_t DisplayWidth(std::string_view text);

// At most `width` columns, "..." in the place of what was in the middle. Text must be safe.
[[nodiscard]] std::string CutMiddle(std::string_view text, std::size_t width);

// For lists "a 1 %, b 2 %": whole items from the front, then "..." if there is room for it, so that
// no number is cut.
[[nodiscard]] std::string CutList(std::string_view text, std::size_t width);

// Words in lines of at most `width` columns, the first line of at most `first_width`. A word that
// is longer has a line of its own. Words are what is between spaces; at least one line.
[[nodiscard]] std::vector<std::string> WrapWords(std::string_view text, std::size_t first_width,
                                                 std::size_t width);

// Filled up with spaces to `width` columns, never cut.
[[nodiscard]] std::string PadRight(std::string_view text, std::size_t width);
[[nodiscard]] std::string PadLeft(std::string_view text, std::size_t width);

}  // namespace profd::client
