#include "daemon/base/utf8.h"

#include <utf8proc.h>

#include <array>

namespace profd {

CodePoint TakeCodePoint(std::string_view& text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t size =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                       static_cast<utf8proc_ssize_t>(text.size()), &code);
  const bool valid = size > 0;
  const std::size_t bytes = valid ? static_cast<std::size_t>(size) : 1;
  const CodePoint taken{valid ? static_cast<char32_t>(code) : 0, text.substr(0, bytes), valid};
  text.remove_prefix(bytes);
  return taken;
}

void AppendCodePoint(std::string& text, char32_t code) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const utf8proc_ssize_t size =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes.data());
  text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(size));
}

bool IsUnsafeToPrint(char32_t code) {
  const bool noncharacter = (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE;
  const bool tag = code >= 0xE0000 && code <= 0xE0FFF;  // with the invisible selectors beside them
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return true;
    default:
      return noncharacter || tag;
  }
}

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = TakeCodePoint(text);
    valid += next.valid ? next.bytes : kReplacementCharacter;
  }
  return valid;
}

}  // namespace profd
