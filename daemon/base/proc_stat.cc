#include "daemon/base/proc_stat.h"

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

}  // namespace profd
