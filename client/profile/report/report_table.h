// ReportTable: the time of a profile by the values of one key. CrossTable: by those of two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/profile/report/report_keys.h"
#include "client/profile/report/report_time.h"
#include "client/profile/share_error.h"
#include "daemon/base/result.h"

namespace profd::client {

struct ReportRow {
  std::string name;    // safe
  std::string module;  // of functions that are not Python's: where they are; else empty
  // Of a key of frames: of samples whose innermost frame has the value. Rows add up to all time.
  ReportTime self;
  ReportTime total;  // and of those that have it anywhere, each once; of other keys the same
  // Where ReportTable.infers: its work, with that of workers of parallel regions where it is
  // inferred that they work for it, and not where they have it themselves. Adds up to all work.
  SampledTime with_workers;
  // What chance may have done to self and to total.
  ErrorSum self_error;
  ErrorSum total_error;
  SampledTime in_steps;  // of ReportTable.steps: its time in these
};

struct ReportTable {
  const ReportKey* key = nullptr;
  std::vector<ReportRow> rows;
  ReportTime all;
  bool counted = false;  // hardware counters have counted
  bool infers = false;   // by operator or phase: for some workers it is known what they work for
  ErrorSum error{};      // of all time
  std::uint64_t lived_ns = 0;  // of all threads: what times are parts of, without a filter, too
  const StepLoop* steps = nullptr;  // by operator or phase: whole steps that were found; else null

  // How far the 95 % interval of a sum of samples reaches, as a share of all time, and in ns;
  // nothing: not known.
  [[nodiscard]] std::optional<double> ReachOf(const ErrorSum& of) const;
  [[nodiscard]] std::optional<std::uint64_t> ReachNs(const ErrorSum& of) const;
  // Of one step on average; `steps` are known.
  [[nodiscard]] std::uint64_t StepNs(const ReportRow& row) const;
};

struct TableOptions {
  FrameStyle style{.line = false, .inlined = false};
  bool kernel = false;              // functions of the kernel have rows of their own
  const StepLoop* steps = nullptr;  // of the key `step`, and what operators and phases take in one;
                                    // null: none are known
  const ErrorRates* errors = nullptr;  // of the profile before it was filtered; null: it was not
};

// The profile has passed CheckProfile.
[[nodiscard]] ReportTable TableBy(const ReportKey& key, const v1::Profile& profile,
                                  const TableOptions& options);

// What rows may be sorted by: "self", "total" (of keys of frames), "time" (of the others), the
// parts, "running" for working and spinning, "with-workers", "samples", "name".
// With `counted` also "cycles", "instructions" and "misses" of that.
[[nodiscard]] std::vector<std::string> SortColumns(const ReportKey& key, bool counted = false);
// Most first, equal ones by total and by name; "" is the first of the columns. kInvalidArgument
// names what there is.
[[nodiscard]] Result<void> SortRows(ReportTable& table, std::string_view column);

struct CrossRow {
  std::string name;                // safe
  std::vector<SampledTime> cells;  // by column
  SampledTime all;                 // their sum
};

struct CrossTable {
  const ReportKey* row_key = nullptr;
  const ReportKey* column_key = nullptr;
  std::vector<std::string> columns;  // most time first; the last of very many is "other"
  std::vector<CrossRow> rows;        // most time first, equal ones by name
  std::vector<SampledTime> sums;     // by column
  SampledTime all;
};

inline constexpr std::size_t kMostColumns = 64;

// Of keys of frames the values of the innermost frames count, so that all adds up. It has at most
// kMostColumns columns.
[[nodiscard]] CrossTable CrossBy(const ReportKey& rows, const ReportKey& columns,
                                 const v1::Profile& profile, const TableOptions& options);
// The same with `most` columns at most, of which the last is "other" where that leaves some out.
[[nodiscard]] CrossTable WithColumns(const CrossTable& table, std::size_t most);

}  // namespace profd::client
