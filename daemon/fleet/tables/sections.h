// Sections: one window of a host, as the inserts that carry it, in one entry of the spool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::fleet {

// In the order in which they are inserted: who finds the row of host_window finds all others.
enum class FleetTable : std::uint8_t { kStack, kSample, kClock, kHostWindow };
inline constexpr std::size_t kFleetTables = 4;
[[nodiscard]] std::string_view NameOf(FleetTable table);

// The body of one INSERT: rows in RowBinary.
struct Section {
  FleetTable table = FleetTable::kStack;
  std::uint32_t part = 0;  // of this table in this window
  bool gzip = false;
  std::string_view body = {};
  bool is_old = false;  // made by a profd of before version 2 of the tables: a spool may have it
};
// "service, hash, last_seen": the columns of its rows, in their order.
[[nodiscard]] std::string_view ColumnsOf(const Section& section);

void PackSection(const Section& section, std::string& payload);
// They point into `payload`. kCorrupt: these are no sections.
[[nodiscard]] Result<std::vector<Section>> UnpackSections(std::string_view payload);

}  // namespace profd::fleet
