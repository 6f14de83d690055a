#include "daemon/python/code/line_table.h"

#include <cstddef>
#include <optional>

#include "daemon/python/code/layout.h"

namespace profd::python {
namespace {

constexpr std::int8_t kNoLine = -128;
constexpr std::int64_t kUnitBytes = 2;

std::uint32_t AsLine(std::int64_t line) {
  return line > 0 && line <= INT32_MAX ? static_cast<std::uint32_t>(line) : 0;
}

std::uint8_t ByteAt(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

// Objects/lnotab_notes.txt of 3.7 to 3.9.
std::uint32_t LineByPairs(std::int64_t line, std::string_view lines, std::int64_t wanted) {
  std::int64_t address = 0;
  for (std::size_t at = 0; at + 1 < lines.size(); at += 2) {
    address += ByteAt(lines, at);
    if (address > wanted) break;
    line += static_cast<std::int8_t>(lines[at + 1]);
  }
  return AsLine(line);
}

// Of 3.10: long ranges are several entries, all but the last without change of line.
std::uint32_t LineByRanges(std::int64_t line, std::string_view lines, std::int64_t wanted) {
  std::int64_t end = 0;
  for (std::size_t at = 0; at + 1 < lines.size(); at += 2) {
    end += ByteAt(lines, at);
    const auto delta = static_cast<std::int8_t>(lines[at + 1]);
    if (delta != kNoLine) line += delta;
    if (wanted < end) return delta == kNoLine ? 0 : AsLine(line);
  }
  return 0;
}

// Objects/locations.md of 3.11 and later.
class Locations {
 public:
  explicit Locations(std::string_view bytes) : bytes_(bytes) {}

  struct Entry {
    std::int64_t bytes = 0;  // of code
    std::int64_t delta = 0;  // of lines
    bool has_line = true;
  };
  [[nodiscard]] std::optional<Entry> Next();

 private:
  enum Code { kOneLineFirst = 10, kOneLineLast = 12, kNoColumns = 13, kLong = 14, kNone = 15 };

  [[nodiscard]] std::int64_t TakeSigned();
  // Bytes with bit 7 begin an entry.
  void SkipToNextEntry() {
    while (at_ < bytes_.size() && (ByteAt(bytes_, at_) & 0x80) == 0) ++at_;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
};

std::int64_t Locations::TakeSigned() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ < bytes_.size() && shift < 36; shift += 6) {
    const std::uint8_t byte = ByteAt(bytes_, at_++);
    value |= std::uint64_t{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  const auto magnitude = static_cast<std::int64_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

std::optional<Locations::Entry> Locations::Next() {
  if (at_ >= bytes_.size()) return std::nullopt;
  const std::uint8_t first = ByteAt(bytes_, at_++);
  const unsigned code = first >> 3 & 15;
  Entry entry{((first & 7) + 1) * kUnitBytes, 0, code != kNone};
  if (code >= kOneLineFirst && code <= kOneLineLast) entry.delta = code - kOneLineFirst;
  if (code == kNoColumns || code == kLong) entry.delta = TakeSigned();
  SkipToNextEntry();
  return entry;
}

std::uint32_t LineByLocations(std::int64_t line, std::string_view lines, std::int64_t wanted) {
  Locations locations(lines);
  std::int64_t end = 0;
  while (const auto entry = locations.Next()) {
    line += entry->delta;
    end += entry->bytes;
    if (wanted < end) return entry->has_line ? AsLine(line) : 0;
  }
  return 0;
}

}  // namespace

std::uint32_t LineOf(std::uint32_t version, std::int32_t first_line, std::string_view lines,
                     std::uint32_t instruction) {
  const auto wanted = static_cast<std::int32_t>(instruction);
  if (wanted < 0) return AsLine(first_line);
  const PythonVersion* known = KnownVersion(version);
  if (known == nullptr) return 0;
  switch (known->lines) {
    case PythonLines::kPairs:
      return LineByPairs(first_line, lines, wanted);
    case PythonLines::kRanges:
      return LineByRanges(first_line, lines, std::int64_t{wanted} * kUnitBytes);
    case PythonLines::kLocations:
      return LineByLocations(first_line, lines, wanted);
  }
  return 0;
}

}  // namespace profd::python
