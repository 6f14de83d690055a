#include "client/text/text.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "daemon/base/utf8.h"

namespace profd::client {
namespace {

constexpr std::string_view kDots = "...";

std::size_t WidthOf(const CodePoint& point) {
  return point.valid ? static_cast<std::size_t>(
                           utf8proc_charwidth(static_cast<utf8proc_int32_t>(point.code)))
                     : 1;
}

}  // namespace

std::string SafeText(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const CodePoint next = TakeCodePoint(text);
    safe += next.valid && !IsUnsafeToPrint(next.code) ? next.bytes : "?";
  }
  return safe;
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) width += WidthOf(TakeCodePoint(text));
  return width;
}

std::string CutMiddle(std::string_view text, std::size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width <= kDots.size()) return std::string(kDots.substr(0, width));
  // Where each character starts and how wide it is, so that none is cut in two.
  std::vector<std::pair<std::size_t, std::size_t>> characters;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t start = text.size() - rest.size();
    characters.emplace_back(start, WidthOf(TakeCodePoint(rest)));
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

std::vector<std::string> WrapWords(std::string_view text, std::size_t first_width,
                                   std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    std::string& line = lines.back();
    const std::size_t room = lines.size() == 1 ? first_width : width;
    if (line.empty())
      line = word;
    else if (DisplayWidth(line) + 1 + DisplayWidth(word) <= room)
      line.append(" ").append(word);
    else
      lines.emplace_back(word);
  }
  return lines;
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
