// ExportProfile: a part of the history as receivers get it: rows with labels, whose times add up to
// the clocks.
#pragma once

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

struct ExportRow {
  std::uint32_t labels = 0;  // index into label_sets
  std::uint32_t thread = 0;  // index into threads
  std::uint32_t node = 0;    // leaf of the stack; 0: none
  Part part = Part::kRunning;
  process::WaitReason wait = process::WaitReason::kNone;
  std::uint64_t count = 0;  // sampling points
  std::uint64_t ns = 0;
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
  std::vector<ExportRow> rows;
  Gaps gaps;                     // since the profile before
  std::vector<NamedCount> lost;  // by the kernel and by profd, in this time
};

// Applies labels and rules. `rules` null: nothing is spinning. Takes frames and nodes from
// `profile`.
[[nodiscard]] ExportProfile MakeExportProfile(aggregate::Profile profile, What what,
                                              const Relabelling& relabelling,
                                              const rules::RuleSet* rules);

// The sum of all rows.
[[nodiscard]] std::uint64_t TotalNs(const ExportProfile& profile);

}  // namespace profd::fleet
