// ExportProfile: a part of the history as receivers get it: rows with labels, whose times add up to
// the clocks.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/fleet/profile/relabelling.h"
#include "daemon/fleet/profile/settings.h"
#include "daemon/rules/rule_set.h"

namespace profd::fleet {

// The parts of a thread's life. They add up to it.
enum class Part : std::uint8_t { kRunning, kSpinning, kRunnable, kBlocked, kStolen };
// "running"; "stolen".
[[nodiscard]] std::string_view NameOf(Part part);
[[nodiscard]] bool IsOnCpu(Part part);

// Time that a receiver does not get, in ns, by its cause: "spool_full".
using Gaps = std::map<std::string, std::uint64_t>;

// One step of a path, without a number that another host would have otherwise.
struct ExportStep {
  aggregate::PathKind kind = aggregate::PathKind::kNone;
  aggregate::PathHow how = aggregate::PathHow::kWoke;
  process::WaitReason wait = process::WaitReason::kNone;
  bool estimated = false;    // as in aggregate::PathNode
  bool own = false;          // the thread is of the waiter's process
  std::uint32_t thread = 0;  // 1 + index into threads; 0: none
  std::uint32_t node = 0;    // leaf of its stack; 0: none
  std::string service = {};  // of the thread, under the labels that leave the host; "": none
  friend auto operator<=>(const ExportStep&, const ExportStep&) = default;
};
// From the waiter outwards. It ends in kOtherUser where the rules leave out the thread.
using ExportPath = std::vector<ExportStep>;

// Whether rows are distinguished by on whom their threads wait.
enum class Paths : std::uint8_t { kLeftOut, kKept };

struct ExportRow {
  std::uint32_t labels = 0;  // index into label_sets
  std::uint32_t thread = 0;  // index into threads
  std::uint32_t node = 0;    // leaf of the stack; 0: none
  Part part = Part::kRunning;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint64_t count = 0;  // sampling points
  std::uint64_t ns = 0;
  std::uint32_t path = 0;  // 1 + index into paths; 0: none is known
};

// Passive. Rows that differ in nothing but their numbers are one; their order is that of their
// fields.
struct ExportProfile {
  std::uint64_t start_unix_ns = 0;
  std::uint64_t duration_ns = 0;
  std::uint64_t period_ns = 0;
  std::string host;
  std::string profd_version;
  bool on_cpu_only = false;
  std::vector<Labels> label_sets;
  std::vector<std::string> threads;  // names
  std::vector<symbolize::Frame> frames;
  std::vector<aggregate::StackNode> nodes;  // as in aggregate::Profile
  std::vector<ExportPath> paths;            // empty where the history does not know who ends waits
  std::vector<ExportRow> rows;
  Gaps gaps;                     // since the profile before
  std::vector<NamedCount> lost;  // by the kernel and by profd, in this time
};

// Applies labels and rules. `rules` null: nothing is spinning. Takes frames and nodes from
// `profile`.
[[nodiscard]] ExportProfile MakeExportProfile(aggregate::Profile profile, What what,
                                              const Relabelling& relabelling,
                                              const rules::RuleSet* rules,
                                              Paths paths = Paths::kLeftOut);

// The sum of all rows.
[[nodiscard]] std::uint64_t TotalNs(const ExportProfile& profile);

}  // namespace profd::fleet
