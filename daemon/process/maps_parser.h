// Parses the text of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace profd::process {

// One line: [start, end) shows `file_offset` onwards of a file, or nothing but memory.
struct MapsLine {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  bool executable = false;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint64_t inode = 0;
  std::string path;  // newlines unescaped; "" for anonymous memory
};

// Nothing when the line is not one of such a file, or not a range of addresses.
[[nodiscard]] std::optional<MapsLine> ParseMapsLine(std::string_view line);

// Hands over every line of `text` that can be understood; returns the number of those that cannot.
// The text is not believed: it may be cut, and its lines need not be in order or free of overlap.
std::uint64_t ParseMaps(std::string_view text, const std::function<void(MapsLine&&)>& sink);

}  // namespace profd::process
