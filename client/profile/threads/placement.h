// Where threads ran: cores, last-level caches and NUMA nodes of the host, and what the other CPU of
// their core did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/profile/share_error.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// The CPUs of the host of a profile.
class CpuMap {
 public:
  explicit CpuMap(const v1::Profile& profile);

  [[nodiscard]] bool known() const { return !places_.empty(); }
  [[nodiscard]] std::size_t cores() const { return cpus_of_core_.size(); }
  [[nodiscard]] std::size_t caches() const { return caches_.size(); }  // 0: not known
  [[nodiscard]] std::size_t nodes() const { return nodes_.size(); }
  // Some core has two CPUs.
  [[nodiscard]] bool has_siblings() const { return cores() < places_.size(); }
  // Nothing: not known.
  [[nodiscard]] std::optional<std::uint32_t> CoreOf(std::uint32_t cpu) const;
  [[nodiscard]] std::optional<std::uint32_t> NodeOf(std::uint32_t cpu) const;
  [[nodiscard]] std::vector<std::uint32_t> CpusOf(std::uint32_t core) const;  // ascending

 private:
  std::map<std::uint32_t, v1::CpuPlace> places_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> cpus_of_core_;
  std::set<std::uint32_t> caches_;
  std::set<std::uint32_t> nodes_;
};

// Migrations, each counted by itself.
struct DistantMoves {
  std::uint64_t core = 0;   // to another core
  std::uint64_t cache = 0;  // to another last-level cache
  std::uint64_t node = 0;   // to another NUMA node
};

// Of one thread, or a sum.
struct Placement {
  std::optional<DistantMoves> moves;              // exact; nothing: not counted
  std::map<std::uint32_t, std::uint64_t> nodes;   // running time by node, of samples whose is known
  std::map<std::uint32_t, std::uint64_t> points;  // samples by CPU
  // Samples that know what the other CPU of the core did, and those in which it was busy.
  std::uint64_t sibling_points = 0;
  std::uint64_t busy_points = 0;

  // With the samples of `other`; moves are left alone.
  void AddSamples(const Placement& other);
};

// By thread of the profile, which has passed CheckProfile.
[[nodiscard]] std::vector<Placement> PlacementsOf(const v1::Profile& profile);

// The share of running with a busy sibling, and its 95 % interval; nothing: not known.
[[nodiscard]] std::optional<double> BusyShare(const Placement& placement);
[[nodiscard]] Interval BusyInterval(const Placement& placement);

// What of placement cannot be shown, and why: "one NUMA node, no core with two CPUs". "": nothing.
[[nodiscard]] std::string NoPlacementText(const v1::Profile& profile);

}  // namespace profd::client
