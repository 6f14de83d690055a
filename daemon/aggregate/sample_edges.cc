#include "daemon/aggregate/sample_edges.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace profd::aggregate {
namespace {

// A thread's samples on the CPU become runs of one point, in order of time.
std::vector<SampledWait> RunsOnCpu(const Profile& profile, const SampledThreads& sampled) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < profile.samples.size(); ++i)
    if (profile.samples[i].state == process::State::kOnCpu && profile.samples[i].count != 0)
      order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    return std::tuple(sampled.of_sample[i], profile.samples[i].time_ns);
  });
  std::vector<SampledWait> runs;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool same = i != 0 && sampled.of_sample[order[i]] == sampled.of_sample[order[i - 1]];
    number = same ? number + 1 : 1;
    runs.push_back({order[i], {.row = 0, .level = 0, .first = number, .last = number}});
  }
  return runs;
}

// What the edges of each row weigh follows from all of its members.
using SumsOfRows = std::map<std::pair<std::uint32_t, process::State>, SamplingError::Sums>;

// `waits`: of one thread as it was sampled, in one state and at one level.
void AddSeries(std::span<const SampledWait> waits, const SampledThreads::One& thread,
               SamplingError& error, Profile& profile, SumsOfRows& sums) {
  const ProfileSample& sample = profile.samples[waits.front().sample];
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
  if (thread.grouped) {
    series.from = std::max<std::uint64_t>(series.from, 1) - 1;
    ++series.to;
  }
  if (sample.state == process::State::kOnCpu) {
    series.from = 0;
    series.to = runs.size() + 1;
    series.salt = std::hash<ThreadKey>{}(thread.key);
  }
  const std::vector<std::uint16_t> edges = error.Add(series, sums[{sample.thread, sample.state}]);
  for (std::size_t i = 0; i < waits.size(); ++i) profile.samples[waits[i].sample].edges = edges[i];
}

}  // namespace

void FindEdges(Profile& profile, std::span<const SampledWait> waits, const SampledThreads& sampled,
               std::uint64_t seed) {
  std::vector<SampledWait> runs = RunsOnCpu(profile, sampled);
  runs.insert(runs.end(), waits.begin(), waits.end());
  const auto series = [&](const SampledWait& wait) {
    return std::tuple(sampled.of_sample[wait.sample], profile.samples[wait.sample].state,
                      wait.run.level);
  };
  std::ranges::stable_sort(runs, {}, [&](const SampledWait& wait) {
    return std::tuple_cat(series(wait), std::tuple(wait.run.first));
  });
  SamplingError error(seed);
  SumsOfRows sums;
  for (std::size_t begin = 0; begin < runs.size();) {
    std::size_t end = begin;
    while (end < runs.size() && series(runs[end]) == series(runs[begin])) ++end;
    AddSeries(std::span(runs).subspan(begin, end - begin),
              sampled.threads[sampled.of_sample[runs[begin].sample]], error, profile, sums);
    begin = end;
  }
  for (const auto& [row, of_row] : sums)
    profile.threads[row.first].edge_factors.at(static_cast<std::size_t>(row.second)) =
        error.FactorOf(of_row);
}

}  // namespace profd::aggregate
