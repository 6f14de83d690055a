// HistoryStrip: what the host did, in one column after the other of a time range.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/history_options.h"
#include "client/commands/web/profile_sources.h"
#include "client/profile/grouping.h"
#include "client/profile/report/report_time.h"
#include "daemon/base/result.h"

namespace profd::client {

struct StripQuestion {
  std::uint64_t from_unix_ns = 0;
  std::uint64_t to_unix_ns = 0;
  std::uint64_t step_ns = 0;  // of a column, at least
  GroupKey by = GroupKey::kComm;
  HistoryQuestion of;  // whom; its times are not used
};

struct StripGroup {
  std::string name;  // safe text
  std::array<std::uint64_t, kParts> ns{};
};

// Windows are not split, so a column ends where its last window does.
struct StripColumn {
  std::uint64_t from_unix_ns = 0;
  std::uint64_t to_unix_ns = 0;
  std::array<std::uint64_t, kParts> ns{};  // as `report` has it for this time
  std::vector<StripGroup>
      groups;  // most time on or for a CPU first; the last of many is "[others]"
};

struct Strip {
  std::vector<StripColumn> columns;  // without those of which there is nothing
  std::uint64_t next_unix_ns = 0;    // where to go on; to_unix_ns: that was all
};

// Windows follow each other by the wall clock, which may be set back a little between two of them:
// a range that has a window, and not the ones beside it, ends that much inside of it.
inline constexpr std::uint64_t kStripMarginNs = 10'000'000;
inline constexpr std::size_t kStripColumns = 8;  // at a time, so that a page fills as they come
inline constexpr std::size_t kStripGroups = 24;  // of a column

// kInvalidArgument: an empty range, or a step below a millisecond.
[[nodiscard]] Result<Strip> HistoryStrip(const StripQuestion& question, ProfileSources& sources);
// One column of it. The profile has passed CheckProfile.
[[nodiscard]] StripColumn ColumnOf(const v1::Profile& profile, GroupKey by);

}  // namespace profd::client
