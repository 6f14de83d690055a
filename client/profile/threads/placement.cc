#include "client/profile/threads/placement.h"

#include <algorithm>

#include "client/profile/threads/concurrency.h"
#include "client/text/number.h"

namespace profd::client {

CpuMap::CpuMap(const v1::Profile& profile) {
  for (const v1::CpuPlace& place : profile.cpu_places()) {
    if (!places_.emplace(place.cpu(), place).second) continue;
    cpus_of_core_[place.core()].push_back(place.cpu());
    if (place.has_cache()) caches_.insert(place.cache());
    nodes_.insert(place.node());
  }
  for (auto& core : cpus_of_core_) std::ranges::sort(core.second);
}

std::optional<std::uint32_t> CpuMap::CoreOf(std::uint32_t cpu) const {
  const auto place = places_.find(cpu);
  return place == places_.end() ? std::nullopt : std::optional(place->second.core());
}

std::optional<std::uint32_t> CpuMap::NodeOf(std::uint32_t cpu) const {
  const auto place = places_.find(cpu);
  return place == places_.end() ? std::nullopt : std::optional(place->second.node());
}

std::vector<std::uint32_t> CpuMap::CpusOf(std::uint32_t core) const {
  const auto cpus = cpus_of_core_.find(core);
  return cpus == cpus_of_core_.end() ? std::vector<std::uint32_t>() : cpus->second;
}

void Placement::AddSamples(const Placement& other) {
  for (const auto& [node, ns] : other.nodes) nodes[node] += ns;
  for (const auto& [cpu, count] : other.points) points[cpu] += count;
  sibling_points += other.sibling_points;
  busy_points += other.busy_points;
}

std::vector<Placement> PlacementsOf(const v1::Profile& profile) {
  std::vector<Placement> placements(static_cast<std::size_t>(profile.threads_size()));
  const CpuMap cpus(profile);
  for (int i = 0; i < profile.threads_size(); ++i) {
    const v1::ThreadClock& clock = profile.threads(i).clock();
    if (clock.has_core_migrations() && cpus.known())
      placements[static_cast<std::size_t>(i)].moves = {
          clock.core_migrations(), clock.cache_migrations(), clock.node_migrations()};
  }
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.cpu_size(); ++i) {
    if (samples.state(i) != v1::STATE_ON_CPU || samples.cpu(i) == 0) continue;
    Placement& placement = placements[samples.thread(i)];
    const std::uint32_t cpu = samples.cpu(i) - 1;
    placement.points[cpu] += samples.count(i);
    if (const auto node = cpus.NodeOf(cpu)) placement.nodes[*node] += samples.weight_ns(i);
    if (samples.sibling_size() == 0 || samples.sibling(i) == v1::SIBLING_UNKNOWN) continue;
    placement.sibling_points += samples.count(i);
    if (samples.sibling(i) == v1::SIBLING_BUSY) placement.busy_points += samples.count(i);
  }
  return placements;
}

std::optional<double> BusyShare(const Placement& placement) {
  if (placement.sibling_points == 0) return std::nullopt;
  return ShareOf(placement.busy_points, placement.sibling_points);
}

Interval BusyInterval(const Placement& placement) {
  return PointInterval(placement.busy_points, placement.sibling_points);
}

std::string NoPlacementText(const v1::Profile& profile) {
  const CpuMap cpus(profile);
  if (!cpus.known()) return "not known which CPUs share a core, a cache or a NUMA node";
  std::string text;
  const auto add = [&](bool missing, const char* what) {
    if (missing) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(cpus.nodes() == 1, "one NUMA node");
  add(cpus.caches() == 0, "caches are not known");
  add(cpus.caches() == 1, "one last-level cache");
  add(!cpus.has_siblings(), "no core with two CPUs");
  if (!text.empty()) text = "this host: " + text;
  if (profile.hook().starts_with("none"))
    text += std::string(text.empty() ? "" : "; ") + "in snapshot mode migrations have no distances";
  return text;
}

}  // namespace profd::client
