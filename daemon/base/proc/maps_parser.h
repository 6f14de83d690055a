// MapsParser: lines of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace profd {

// One line: [start, end) maps a file from `file_offset` on, or anonymous memory.
struct MapsLine {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  bool readable = false;
  bool executable = false;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::string path;  // newlines unescaped; "" for anonymous memory
};

// The kernel appends " (deleted)" to the name of a file that has none any more, as after a package
// update. Of a path in a maps file or behind /proc/PID/exe.
[[nodiscard]] std::string_view WithoutDeleted(std::string_view path);

// Nothing: the line is not in the format of /proc/PID/maps, or has no range of addresses.
[[nodiscard]] std::optional<MapsLine> ParseMapsLine(std::string_view line);

// Calls `sink` for each valid line of `text` and returns the number of invalid ones. The text is
// hostile: it may be cut, and its lines may overlap or be out of order.
std::uint64_t ParseMaps(std::string_view text, const std::function<void(MapsLine&&)>& sink);

}  // namespace profd
