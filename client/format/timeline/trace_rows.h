// TraceRows: a timeline as rows of nested slices, which trace viewers draw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/format/timeline/timeline.h"
#include "client/profile/options.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct TraceSlice {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t name = 0;    // index into names
  std::uint32_t detail = 0;  // index into details; 0 is empty
};

// kSwitches: exact states, of profiles that have every switch.
enum class RowKind : std::uint8_t { kStacks, kStates, kSwitches, kOperators, kSteps };

// Slices by begin, outer ones first; each lies inside of the one that it is drawn below.
struct TraceRow {
  RowKind kind = RowKind::kStacks;
  std::string name;           // safe
  std::uint32_t process = 0;  // index into Profile.processes
  std::uint32_t thread = 0;   // index into Profile.threads
  std::uint32_t id = 0;       // of the row: that of stacks has the tid, if that is distinct
  std::vector<TraceSlice> slices;
};

// A thread ended the wait of another one.
struct TraceFlow {
  // Rows of states, or of switches: there is a slice at `time_ns` in both.
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint64_t time_ns = 0;  // the last ns of the wait; of switches that of the wake-up
};

// How many threads of a process are on a CPU, on average from each instant up to the next one.
struct TraceCounter {
  std::uint32_t process = 0;
  std::vector<std::pair<std::uint64_t, double>> values;  // from begin on; the last one is 0
};

// Each thread has a row of stacks, in which equal frames next to each other are one slice and
// waiting ends in its state, and a row of states; one of its switches where all are known; one of
// phases and operators where a framework ran, and the thread of a training loop one of steps.
struct TraceRows {
  using Detail = std::vector<std::pair<std::string, std::string>>;  // keys and safe values

  Timeline timeline;  // without its tracks
  std::vector<std::string> names;
  std::vector<Detail> details;
  std::vector<std::uint32_t> process_ids;  // by process: its pid, if that is distinct
  std::vector<TraceRow> rows;              // by process
  std::vector<TraceFlow> flows;            // in order of time
  std::vector<TraceCounter> counters;      // none without times

  // The profile has passed CheckProfile. kExhausted: more than kMaxSlices.
  [[nodiscard]] static Result<TraceRows> Of(const v1::Profile& profile,
                                            const ExportOptions& options);
  static constexpr std::size_t kMaxSlices = 8'000'000;
};

}  // namespace profd::client
