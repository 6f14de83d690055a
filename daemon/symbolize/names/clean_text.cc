#include "daemon/symbolize/names/clean_text.h"

#include <algorithm>

#include "daemon/base/utf8.h"

namespace profd::symbolize {

std::string CleanText(std::string_view text, std::size_t max_bytes) {
  constexpr std::string_view kCut = "...";
  std::string clean;
  clean.reserve(std::min(text.size(), max_bytes));
  std::size_t room_for_cut = 0;  // longest prefix that leaves room for kCut
  while (!text.empty()) {
    const CodePoint next = TakeCodePoint(text);
    const std::string_view piece = next.valid && !IsUnsafeToPrint(next.code) ? next.bytes : "?";
    if (clean.size() + piece.size() > max_bytes) {
      clean.resize(room_for_cut);
      return clean.append(kCut.substr(0, max_bytes));
    }
    clean += piece;
    if (clean.size() + kCut.size() <= max_bytes) room_for_cut = clean.size();
  }
  return clean;
}

}  // namespace profd::symbolize
