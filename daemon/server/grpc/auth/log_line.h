// LogLine: what clients write, made fit for one line of the log.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace profd::server {

// Names and requests come from the client. Control characters in them must not forge other lines of
// the log.
[[nodiscard]] inline std::string OneLine(std::string text) {
  constexpr std::size_t kMostBytes = 512;
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

}  // namespace profd::server
