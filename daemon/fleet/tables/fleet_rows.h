// FleetRows: an export profile as rows of a fleet's tables, whose sums are those of the profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/tables/fleet_paths.h"
#include "daemon/fleet/tables/fleet_stacks.h"
#include "daemon/fleet/tables/thread_group.h"

namespace profd::fleet {

// Labels that are columns; the others are in `labels`. "": the process has no such label.
struct LabelColumns {
  std::string service;
  std::string version;
  std::string zone;
  std::string name_space;
  std::string pod;
  std::string container;
  std::string unit;
  std::string executable;
  Labels labels;
  friend auto operator<=>(const LabelColumns&, const LabelColumns&) = default;
};

// host.name is the host's own column. Left out, because they would make rows of every container and
// build different: container.id, k8s.pod.uid, process.executable.build_id.gnu.
[[nodiscard]] LabelColumns ColumnsOf(const Labels& labels);

struct FleetSample {
  std::uint32_t columns = 0;  // index into FleetRows::columns
  std::uint32_t thread = 0;   // index into FleetRows::threads
  std::uint32_t stack = 0;    // of FleetStacks
  Part part = Part::kRunning;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  std::uint32_t path = 0;  // as FleetPaths::Of has it
};

struct FleetClock {
  std::string service;
  std::string version;
  std::string zone;
  std::string name_space;
  std::string pod;
  Part part = Part::kRunning;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint64_t ns = 0;
};

// Passive. Columns without labels of the process, thread or stack are those of the profile.
struct FleetRows {
  std::vector<LabelColumns> columns;
  std::vector<std::string> threads;  // groups; "" of rows that a limit cut off
  std::vector<FleetSample> samples;
  std::vector<FleetClock> clocks;
  std::string zone;  // of the host: the first one that a process has
  std::uint64_t other_ns = 0;
};

// Has `most` samples at most: those with the most time, and the others as one of the stack
// kOtherStack for each set of labels, state and reason. So sums stay what they are. Where these
// sets are more than half of `most`, they come on top of that half: stacks are never given up for
// them. Before a stack is given up, the rows beyond the half with the most time lose what the
// threads on their paths do, and then their paths.
[[nodiscard]] FleetRows MakeFleetRows(const ExportProfile& profile, std::size_t most,
                                      FleetStacks& stacks, FleetPaths& paths);

}  // namespace profd::fleet
