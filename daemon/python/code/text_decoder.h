// The characters of a str object as UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace profd::python {

// The state word of a str: how its characters lie.
struct StringForm {
  unsigned bytes_each = 1;  // 1, 2 or 4
  bool ascii = false;       // then they follow the shorter head
};

// Nothing when it is no state of a str that holds its characters itself. The bits stand behind the
// interning state, which takes 2, 8 or 16 bits by version and build.
[[nodiscard]] std::optional<StringForm> ParseStringState(std::uint32_t state);

// `characters` are as many whole ones of `bytes_each` as it holds. What is no character (a lone
// surrogate, a number beyond Unicode) becomes U+FFFD. Cut at a character to `max_bytes`.
[[nodiscard]] std::string ToUtf8(std::string_view characters, unsigned bytes_each,
                                 std::size_t max_bytes);

}  // namespace profd::python
