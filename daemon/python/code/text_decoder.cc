#include "daemon/python/code/text_decoder.h"

#include <array>
#include <cstring>

namespace profd::python {
namespace {

constexpr std::uint32_t kReplacement = 0xfffd;
constexpr std::array kInterningBits{2u, 8u, 16u};

std::uint32_t CharacterAt(std::string_view bytes, std::size_t at, unsigned bytes_each) {
  std::uint32_t character = 0;
  std::memcpy(&character, bytes.data() + at, bytes_each);  // little-endian
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  return surrogate || character > 0x10ffff ? kReplacement : character;
}

std::size_t Utf8Bytes(std::uint32_t character) {
  return character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
}

void Append(std::string& text, std::uint32_t character) {
  const std::size_t bytes = Utf8Bytes(character);
  if (bytes == 1) {
    text += static_cast<char>(character);
    return;
  }
  constexpr std::array<unsigned, 5> kLead{0, 0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(kLead.at(bytes) | character >> 6 * (bytes - 1));
  for (std::size_t left = bytes - 1; left-- > 0;)
    text += static_cast<char>(0x80 | (character >> 6 * left & 0x3f));
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
    const std::uint32_t character = CharacterAt(characters, at, bytes_each);
    if (text.size() + Utf8Bytes(character) > max_bytes) break;
    Append(text, character);
  }
  return text;
}

}  // namespace profd::python
