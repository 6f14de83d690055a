#include "daemon/python/code/text_decoder.h"

#include <array>
#include <cstring>

#include "daemon/base/utf8.h"

namespace profd::python {
namespace {

constexpr char32_t kReplacement = 0xfffd;
constexpr std::array kInterningBits{2u, 8u, 16u};

char32_t CharacterAt(std::string_view bytes, std::size_t at, unsigned bytes_each) {
  char32_t character = 0;
  std::memcpy(&character, bytes.data() + at, bytes_each);  // little-endian
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return surrogate || character > 0x10ffff ? kReplacement : character;
}

}  // namespace

std::optional<StringForm> ParseStringState(std::uint32_t state) {
  for (const unsigned skipped : kInterningBits) {
    const std::uint32_t bits = state >> skipped;
    const StringForm form{bits & 7, (bits >> 4 & 1) != 0};
    const bool compact = (bits >> 3 & 1) != 0;
    const bool known = form.bytes_each == 1 || form.bytes_each == 2 || form.bytes_each == 4;
    if (known && compact && (!form.ascii || form.bytes_each == 1)) return form;
  }
  return std::nullopt;
}

std::string ToUtf8(std::string_view characters, unsigned bytes_each, std::size_t max_bytes) {
  std::string text;
  for (std::size_t at = 0; at + bytes_each <= characters.size(); at += bytes_each) {
    const std::size_t before = text.size();
    AppendCodePoint(text, CharacterAt(characters, at, bytes_each));
    if (text.size() <= max_bytes) continue;
    text.resize(before);
    break;
  }
  return text;
}

}  // namespace profd::python
