// FleetPaths: the paths of an export profile as a fleet compares them: names, no numbers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"
#include "daemon/fleet/tables/fleet_stacks.h"

namespace profd::fleet {

// A step on every host.
struct FleetStep {
  aggregate::PathKind kind = aggregate::PathKind::kNone;
  aggregate::PathHow how = aggregate::PathHow::kWoke;
  process::WaitReason wait = process::WaitReason::kNone;  // kWaits
  std::string thread = {};                                // group; "": none
  std::string service = {};                               // of the thread; "": none
  bool own = false;                                       // the thread is of the waiter's process
  std::uint64_t stack = 0;                                // hash; 0: not known
};

struct FleetPath {
  std::uint64_t hash = 0;  // never 0
  bool estimated = false;  // the last stack is not of this wait, but of one like it
  std::vector<FleetStep> steps;
  std::vector<std::uint32_t> stacks;  // of the steps that have one, by number of FleetStacks
};

// The first 8 bytes, as a big-endian number, of the XXH3 of 128 bits (canonical form) over: whether
// it is estimated; and for each step, from the waiter outwards, its kind and how; the texts of its
// wait, thread and service, each behind its length; whether it is of the waiter's process; and the
// hash of its stack. Numbers are 8 bytes, little-endian.
[[nodiscard]] std::uint64_t FleetPathHash(const std::vector<FleetStep>& steps, bool estimated);

// Job: numbers paths in the order of their use; those that differ in numbers of threads alone are
// one. Thread: one. Owner: who makes the rows.
class FleetPaths {
 public:
  // Both outlive this. `stacks` gets those of the steps.
  FleetPaths(const ExportProfile& profile, FleetStacks& stacks)
      : profile_(profile), stacks_(stacks) {}

  // 1 + number of a path; 0: none is known. `path`: as in ExportRow.
  [[nodiscard]] std::uint32_t Of(std::uint32_t path);
  // The same path without what its threads do.
  [[nodiscard]] std::uint32_t WithoutStacks(std::uint32_t number);

  [[nodiscard]] const std::vector<FleetPath>& all() const { return all_; }

 private:
  [[nodiscard]] std::uint32_t Add(FleetPath path);

  const ExportProfile& profile_;
  FleetStacks& stacks_;
  std::vector<FleetPath> all_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;         // by hash
  std::unordered_map<std::uint32_t, std::uint32_t> profile_paths_;   // by path of the profile
  std::unordered_map<std::uint32_t, std::uint32_t> without_stacks_;  // by number
};

}  // namespace profd::fleet
