#include "daemon/base/proc/maps_parser.h"

#include <charconv>
#include <utility>

namespace profd {
namespace {

// Reads a number and the character that must follow it ('\0': none); false when they are not there.
template <typename Number>
bool TakeNumber(std::string_view& text, int base, char follower, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (follower == '\0') return true;
  if (text.empty() || text.front() != follower) return false;
  text.remove_prefix(1);
  return true;
}

// The kernel writes a newline inside a name as \012 and leaves everything else alone.
std::string Unescape(std::string_view text) {
  constexpr std::string_view kNewline = "\\012";
  std::string plain;
  plain.reserve(text.size());
  while (true) {
    const auto at = text.find(kNewline);
    plain.append(text.substr(0, at));
    if (at == std::string_view::npos) return plain;
    plain.push_back('\n');
    text.remove_prefix(at + kNewline.size());
  }
}

}  // namespace

std::string_view WithoutDeleted(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return path;
}

std::optional<MapsLine> ParseMapsLine(std::string_view line) {
  MapsLine parsed;
  if (!TakeNumber(line, 16, '-', parsed.start)) return std::nullopt;
  if (!TakeNumber(line, 16, ' ', parsed.end)) return std::nullopt;
  if (parsed.start >= parsed.end) return std::nullopt;
  constexpr std::size_t kPermissions = 4;  // "r-xp"
  if (line.size() <= kPermissions || line[kPermissions] != ' ') return std::nullopt;
  parsed.readable = line[0] == 'r';
  parsed.executable = line[2] == 'x';
  line.remove_prefix(kPermissions + 1);
  if (!TakeNumber(line, 16, ' ', parsed.file_offset)) return std::nullopt;
  if (!TakeNumber(line, 16, ':', parsed.device_major)) return std::nullopt;
  if (!TakeNumber(line, 16, ' ', parsed.device_minor)) return std::nullopt;
  if (!TakeNumber(line, 10, '\0', parsed.inode)) return std::nullopt;
  const auto path = line.find_first_not_of(' ');
  if (path == std::string_view::npos) return parsed;
  if (path == 0) return std::nullopt;  // the number did not end where it must
  parsed.path = Unescape(line.substr(path));
  return parsed;
}

std::uint64_t ParseMaps(std::string_view text, const std::function<void(MapsLine&&)>& sink) {
  std::uint64_t malformed = 0;
  while (!text.empty()) {
    const auto newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (line.empty()) continue;
    auto parsed = ParseMapsLine(line);
    if (parsed) {
      sink(std::move(*parsed));
    } else {
      ++malformed;
    }
  }
  return malformed;
}

}  // namespace profd
