// Text inside XML, JSON and the language of Graphviz. The first two take any bytes and are safe
// inside each other.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace profd::client {

// For element content and attributes in double or single quotes. `text` has been through SafeName
// or SafeText, which leave no character that XML forbids.
[[nodiscard]] std::string EscapeXml(std::string_view text);

// With its quotes. Escapes `<`, `>` and `&` too, so that the text may stand in a <script> of an
// HTML or XML file, and U+2028 and U+2029, so that it may stand in JavaScript.
[[nodiscard]] std::string QuoteJson(std::string_view text);

// With its quotes, for Graphviz: a line break in it is one in a label, nothing else has a meaning.
[[nodiscard]] std::string QuoteDot(std::string_view text);

// False: all JSON has this number as a string. Readers that hold numbers as doubles hold every
// integer up to 2^53 - 1 exactly, of either sign.
[[nodiscard]] constexpr bool IsJsonNumber(std::integral auto value) {
  constexpr std::uint64_t kMost = (std::uint64_t{1} << 53) - 1;
  const auto bits = static_cast<std::uint64_t>(value);
  return (value < 0 ? 0 - bits : bits) <= kMost;
}

}  // namespace profd::client
