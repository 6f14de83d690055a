#include "daemon/aggregate/sample_edges.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <vector>

namespace profd::aggregate {
namespace {

// A thread's samples on the CPU become runs of one point, in order of time.
std::vector<SampledWait> RunsOnCpu(const Profile& profile) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < profile.samples.size(); ++i)
    if (profile.samples[i].state == process::State::kOnCpu && profile.samples[i].count != 0)
      order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    return std::tuple(profile.samples[i].thread, profile.samples[i].time_ns);
  });
  std::vector<SampledWait> runs;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same =
        i != 0 && profile.samples[order[i]].thread == profile.samples[order[i - 1]].thread;
    number = same ? number + 1 : 1;
    runs.push_back({order[i], {.row = 0, .level = 0, .first = number, .last = number}});
  }
  return runs;
}

// The runs of one thread, state and level.
struct ErrorSeries {
  std::uint32_t thread = 0;
  process::State state = process::State::kOnCpu;
  SamplingError::Sums sums;
};

void AddSeries(std::span<const SampledWait> waits, SamplingError& error, Profile& profile,
               std::vector<ErrorSeries>& all) {
  const ProfileSample& sample = profile.samples[waits.front().sample];
  const ProfileThread& thread = profile.threads[sample.thread];
  std::vector<PointRun> runs;
  for (const SampledWait& wait : waits) {
    runs.push_back(wait.run);
    runs.back().row = profile.samples[wait.sample].node;
  }
  const std::uint32_t level = runs.front().level;
  SamplingError::Series series{.from = thread.begin_ns >> level,
                               .to = (std::max(thread.end_ns, thread.begin_ns + 1) - 1) >> level,
                               .salt = 0,
                               .runs = runs};
  if (sample.state == process::State::kOnCpu) {
    series.from = 0;
    series.to = runs.size() + 1;
    series.salt = std::hash<ThreadKey>{}(thread.key);
  }
  if (all.empty() || all.back().thread != sample.thread || all.back().state != sample.state)
    all.push_back({sample.thread, sample.state, {}});
  const std::vector<std::uint16_t> edges = error.Add(series, all.back().sums);
  for (std::size_t i = 0; i < waits.size(); ++i) profile.samples[waits[i].sample].edges = edges[i];
}

}  // namespace

void FindEdges(Profile& profile, std::span<const SampledWait> waits, std::uint64_t seed) {
  std::vector<SampledWait> runs = RunsOnCpu(profile);
  runs.insert(runs.end(), waits.begin(), waits.end());
  const auto series = [&](const SampledWait& wait) {
    const ProfileSample& sample = profile.samples[wait.sample];
    return std::tuple(sample.thread, sample.state, wait.run.level);
  };
  std::ranges::stable_sort(runs, {}, [&](const SampledWait& wait) {
    return std::tuple_cat(series(wait), std::tuple(wait.run.first));
  });
  SamplingError error(seed);
  std::vector<ErrorSeries> all;
  for (std::size_t begin = 0; begin < runs.size();) {
    std::size_t end = begin;
    while (end < runs.size() && series(runs[end]) == series(runs[begin])) ++end;
    AddSeries(std::span(runs).subspan(begin, end - begin), error, profile, all);
    begin = end;
  }
  for (const ErrorSeries& one : all)
    profile.threads[one.thread].edge_factors.at(static_cast<std::size_t>(one.state)) =
        error.FactorOf(one.sums);
}

}  // namespace profd::aggregate
