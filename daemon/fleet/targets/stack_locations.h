// StackLocations: the places of code on the stacks of an export profile, each once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/fleet/profile/export_profile.h"

namespace profd::fleet {

// Job: numbers locations in the order of their use. A location is one address: a function and those
// that were inlined into it. Thread: one. Owner: an encoder, which writes what it finds here.
class StackLocations {
 public:
  // `profile` outlives this.
  explicit StackLocations(const ExportProfile& profile) : profile_(profile) {}

  // Numbers of locations, innermost first. Empty for node 0.
  [[nodiscard]] std::vector<std::uint32_t> Of(std::uint32_t node);
  // By number: its frames, innermost first; the last one is the function with the address.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& all() const { return all_; }

 private:
  const ExportProfile& profile_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  std::vector<std::vector<std::uint32_t>> all_;
};

}  // namespace profd::fleet
