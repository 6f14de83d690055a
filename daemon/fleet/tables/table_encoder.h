// TableEncoder: an export profile as the inserts into a fleet's tables.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/base/http/content_encoding.h"
#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/tables/sent_stacks.h"

namespace profd::fleet {

struct TableLimits {
  std::size_t rows = 2'000;             // of `sample`, as MakeFleetRows has it
  std::size_t body_bytes = 4ull << 20;  // of one insert, without compression; a row at least
  ContentEncoding encoding = ContentEncoding::kZstd;
};

// Sections in the order stack, path, sample, clock, host_window. Stacks and paths that `sent` has
// are left out. A profile without rows has the row of its window, too: nothing is missing there.
[[nodiscard]] std::string EncodeTables(const ExportProfile& profile, const TableLimits& limits,
                                       SentStacks& sent);

}  // namespace profd::fleet
