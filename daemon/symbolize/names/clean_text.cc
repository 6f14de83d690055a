#include "daemon/symbolize/names/clean_text.h"

#include <algorithm>
#include <cstdint>

namespace profd::symbolize {
namespace {

struct Character {
  std::size_t bytes = 1;
  char32_t code = 0;
  bool valid = false;
};

// The UTF-8 character at the front of `text`, which is not empty. An invalid one is one byte long.
Character Front(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return {1, lead, true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  char32_t code = lead & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {bytes, code, true};
}

bool IsHarmful(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||       // C0, DEL, C1
         code == 0x61c || code == 0x200e || code == 0x200f ||  // direction marks
         (code >= 0x2028 && code <= 0x202e) ||                 // separators, embeddings, overrides
         (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

}  // namespace

std::string CleanText(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view kCut = "...";
  std::string clean;
  clean.reserve(std::min(text.size(), max_bytes));
  std::size_t room_for_cut = 0;  // longest prefix that leaves room for kCut
  while (!text.empty()) {
    const Character character = Front(text);
    const bool keep = character.valid && !IsHarmful(character.code);
    const std::string_view piece = keep ? text.substr(0, character.bytes) : "?";
    if (clean.size() + piece.size() > max_bytes) {
      clean.resize(room_for_cut);
      return clean.append(kCut.substr(0, max_bytes));
    }
    clean += piece;
    if (clean.size() + kCut.size() <= max_bytes) room_for_cut = clean.size();
    text.remove_prefix(character.bytes);
  }
  return clean;
}

}  // namespace profd::symbolize
