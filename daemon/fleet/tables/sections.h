// Sections: one window of a host, as the inserts that carry it, in one entry of the spool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/http/content_encoding.h"
#include "daemon/base/result.h"

namespace profd::fleet {

// The row of host_window is inserted last: who finds it finds all others.
enum class FleetTable : std::uint8_t { kStack, kSample, kClock, kHostWindow, kPath };
inline constexpr std::size_t kFleetTables = 4;  // of every window; kPath: of those that know wakers
[[nodiscard]] std::string_view NameOf(FleetTable table);

// The body of one INSERT: rows in RowBinary.
struct Section {
  FleetTable table = FleetTable::kStack;
  std::uint32_t part = 0;  // of this table in this window
  ContentEncoding encoding = ContentEncoding::kNone;
  std::string_view body = {};
  bool is_old = false;  // made by a profd of before version 2 of the tables: a spool may have it
  // Of a window that knows wakers: samples have a path, which needs version 3 of the tables. Others
  // go into tables of version 2, too.
  bool has_paths = false;
};
// "service, hash, last_seen": the columns of its rows, in their order.
[[nodiscard]] std::string_view ColumnsOf(const Section& section);

// All sections of a payload have paths, or none.
void PackSection(const Section& section, std::string& payload);
// They point into `payload`. kCorrupt: these are no sections.
[[nodiscard]] Result<std::vector<Section>> UnpackSections(std::string_view payload);

}  // namespace profd::fleet
