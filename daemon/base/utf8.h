// UTF-8 from other processes, files and the kernel: any byte of it may be wrong.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace profd {

struct CodePoint {
  char32_t code = 0;       // 0 if it is not valid
  std::string_view bytes;  // its bytes in the text, 1 to 4; one byte if it is not valid
  bool valid = false;
};

// Takes the first code point off `text`, which must not be empty. Overlong forms, surrogates, what
// lies beyond U+10FFFF and characters that are cut short are not valid: each byte of them is taken
// by itself.
[[nodiscard]] CodePoint TakeCodePoint(std::string_view& text);

// Appends one code point, which must be valid: up to U+10FFFF and no surrogate.
void AppendCodePoint(std::string& text, char32_t code);

// A code point that breaks a line or a terminal, is invisible, changes the direction of writing, or
// is refused by XML: control and format characters, line separators, tags, noncharacters.
[[nodiscard]] bool IsUnsafeToPrint(char32_t code);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// `text` with kReplacementCharacter for each byte that is not UTF-8. Code points that are unsafe to
// print stay.
[[nodiscard]] std::string ValidUtf8(std::string_view text);

// Without `blanks` at its begin and its end. A part of `text`.
[[nodiscard]] constexpr std::string_view Trimmed(std::string_view text,
                                                 std::string_view blanks = " \t\r") {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

}  // namespace profd
