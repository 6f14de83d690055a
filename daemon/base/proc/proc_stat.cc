#include "daemon/base/proc/proc_stat.h"

#include <charconv>
#include <cstddef>

namespace profd {

std::optional<std::uint64_t> StatField(std::string_view stat, int field) {
  // The comm in field 2 may hold anything, also ") 1 2": count from the last bracket.
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string_view::npos) return std::nullopt;
  stat.remove_prefix(bracket + 1);
  for (int at = 3;; ++at) {
    const std::size_t begin = stat.find_first_not_of(' ');
    if (begin == std::string_view::npos) return std::nullopt;
    stat.remove_prefix(begin);
    if (at == field) break;
    const std::size_t space = stat.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    stat.remove_prefix(space);
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(stat.data(), stat.data() + stat.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

std::string_view StatusLine(std::string_view status, std::string_view key) {
  while (!status.empty()) {
    const auto newline = status.find('\n');
    const std::string_view line = status.substr(0, newline);
    if (line.starts_with(key)) return line.substr(key.size());
    if (newline == std::string_view::npos) break;
    status.remove_prefix(newline + 1);
  }
  return {};
}

}  // namespace profd
