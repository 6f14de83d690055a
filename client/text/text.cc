#include "client/text/text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace profd::client {
namespace {

constexpr char32_t kInvalid = 0xffffffff;
constexpr std::string_view kDots = "...";

struct Range {
  char32_t first;
  char32_t last;
};

// Control characters, and the format characters that reorder or hide what follows.
constexpr std::array kUnsafe{Range{0x0, 0x1f},       Range{0x7f, 0x9f},     Range{0xad, 0xad},
                             Range{0x61c, 0x61c},    Range{0x200b, 0x200f}, Range{0x2028, 0x202e},
                             Range{0x2060, 0x206f},  Range{0xfeff, 0xfeff}, Range{0xfff9, 0xfffb},
                             Range{0xe0000, 0xe0fff}};
constexpr std::array kCombining{Range{0x300, 0x36f},   Range{0x483, 0x489},   Range{0x591, 0x5bd},
                                Range{0x610, 0x61a},   Range{0x64b, 0x65f},   Range{0x1ab0, 0x1aff},
                                Range{0x1dc0, 0x1dff}, Range{0x20d0, 0x20ff}, Range{0xfe00, 0xfe0f},
                                Range{0xfe20, 0xfe2f}};
constexpr std::array kWide{
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0x33ff},
    Range{0x3400, 0x4dbf},   Range{0x4e00, 0xa4cf},   Range{0xa960, 0xa97f},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},
    Range{0xff00, 0xff60},   Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f},
    Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff}, Range{0x20000, 0x3fffd}};

template <std::size_t N>
bool In(const std::array<Range, N>& ranges, char32_t code) {
  return std::ranges::any_of(
      ranges, [code](const Range& range) { return code >= range.first && code <= range.last; });
}

struct Decoded {
  char32_t code = kInvalid;
  std::size_t length = 1;  // bytes; 1 for an invalid one
};

// The code point at the front of `text`, which is not empty. Overlong forms, surrogates and numbers
// above U+10FFFF are invalid.
Decoded Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xf0 && first < 0xf5   ? 4
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xc2 && first < 0xe0 ? 2
                                                             : 0;
  if (length == 0 || text.size() < length) return {};
  char32_t code = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
  return {code, length};
}

std::size_t WidthOf(char32_t code) { return In(kCombining, code) ? 0 : In(kWide, code) ? 2 : 1; }

}  // namespace

std::string SafeText(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = Decode(text);
    if (next.code == kInvalid || In(kUnsafe, next.code))
      safe.push_back('?');
    else
      safe.append(text.substr(0, next.length));
    text.remove_prefix(next.length);
  }
  return safe;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Decoded next = Decode(text);
    width += WidthOf(next.code);
    text.remove_prefix(next.length);
  }
  return width;
}

std::string CutMiddle(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= kDots.size()) return std::string(kDots.substr(0, width));
  // Where each character starts and how wide it is, so that none is cut in two.
  std::vector<std::pair<std::size_t, std::size_t>> characters;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = Decode(text.substr(at));
    characters.emplace_back(at, WidthOf(next.code));
    at += next.length;
  }
  const std::size_t room = width - kDots.size();
  const std::size_t front_room = (room + 1) / 2;
  std::size_t front = 0;
  std::size_t used = 0;
  while (front < characters.size() && used + characters[front].second <= front_room)
    used += characters[front++].second;
  std::size_t back = characters.size();
  while (back > front && used + characters[back - 1].second <= room)
    used += characters[--back].second;
  std::string cut(text.substr(0, characters[front].first));
  cut.append(kDots);
  if (back < characters.size()) cut.append(text.substr(characters[back].first));
  return cut;
}

std::string CutList(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  std::string best = width < kDots.size() ? "" : std::string(kDots);
  for (std::size_t comma = text.find(", "); comma != std::string_view::npos;
       comma = text.find(", ", comma + 1)) {
    const std::string items(text.substr(0, comma));
    const std::string with_dots = items + ", " + std::string(kDots);
    if (DisplayWidth(with_dots) <= width)
      best = with_dots;
    else if (best == kDots && DisplayWidth(items) <= width)
      best = items;
  }
  return best;
}

std::string PadRight(std::string_view text, std::size_t width) {
  const std::size_t used = DisplayWidth(text);
  return std::string(text) + std::string(width > used ? width - used : 0, ' ');
}

std::string PadLeft(std::string_view text, std::size_t width) {
  const std::size_t used = DisplayWidth(text);
  return std::string(width > used ? width - used : 0, ' ') + std::string(text);
}

}  // namespace profd::client
