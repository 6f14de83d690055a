#include "daemon/aggregate/waits/wait_paths.h"

#include <algorithm>
#include <ranges>

#include "bpf/shared/points.h"

namespace profd::aggregate {

WaitPaths::PathId WaitPaths::Intern(PathId parent, const PathStep& step) {
  const Key key{parent, step.kind, step.how, step.wait, step.estimated, step.thread, step.node};
  const auto [found, added] = children_.try_emplace(key, static_cast<PathId>(nodes_.size()));
  if (added) nodes_.push_back({parent, step});
  return found->second;
}

WaitPaths::PathId WaitPaths::PathAt(std::uint32_t thread, const LoggedWait& wait,
                                    std::uint64_t time_ns) {
  PathId path = 0;
  for (const PathStep& step : finder_.Find(thread, wait, time_ns)) path = Intern(path, step);
  return path;
}

std::vector<WaitPaths::Run> WaitPaths::RunsOf(const ThreadKey& thread, std::uint64_t begin_ns,
                                              const PointRun& points, const Window& inside) {
  std::vector<Run> runs;
  const auto known = log_.Find(thread);
  const LoggedWait* wait = known ? log_.FindWait(*known, begin_ns) : nullptr;
  const std::uint64_t stride = (points.last - points.first) / kMaxRuns + 1;
  for (std::uint64_t period = points.first; period <= points.last; period += stride) {
    // One of them, drawn: what is periodic must not meet the strides.
    const std::uint64_t drawn = profd_draw(point_seed_, 0, period) % stride;
    const std::uint64_t time_ns =
        profd_point(point_seed_, points.level, std::min(points.last, period + drawn));
    if (!inside.Contains(time_ns)) continue;
    const PathId path =
        wait == nullptr ? Intern(0, {.kind = PathKind::kLost}) : PathAt(*known, *wait, time_ns);
    if (runs.empty() || runs.back().path != path)
      runs.push_back({.path = path, .points = points, .count = 0});
    runs.back().count += static_cast<std::uint32_t>(stride);
    if (runs.size() > 1 && runs.back().count == stride) {
      runs.back().points.first = period;
      runs[runs.size() - 2].points.last = period - 1;
    }
  }
  return runs;
}

std::vector<WaitPaths::Run> WaitPaths::RunsOfOpen(const ThreadKey& thread, std::uint64_t begin_ns,
                                                  const Window& inside) {
  const auto known = log_.Find(thread);
  const LoggedWait* wait = known ? log_.FindWait(*known, begin_ns) : nullptr;
  std::vector<Run> runs;
  if (wait != nullptr && finder_.HasOwner(*known, *wait)) {
    // Some points are enough: the time is exact, and only its parts are sampled. They are such at
    // which the threads on the path are sampled, too.
    std::uint32_t level = std::max<std::uint32_t>(
        PROFD_FINEST_LEVEL, log_.CoarsestLevel(inside.begin_ns, inside.end_ns));
    while (inside.Length() >> level > kMaxRuns) ++level;
    const auto count = static_cast<std::uint32_t>(
        profd_points_in(point_seed_, level, inside.begin_ns, inside.end_ns));
    if (count != 0)
      runs = RunsOf(thread, begin_ns,
                    FindPoints(point_seed_, level, inside.begin_ns, inside.end_ns, count), inside);
  }
  if (runs.empty()) runs.push_back({.path = StillWaits(), .points = {}, .count = 1});
  return runs;
}

void WaitPaths::CountWakeUps(const ThreadKey& thread, std::uint32_t row, const Window& inside) {
  const auto known = log_.Find(thread);
  if (!known) return;
  for (const LoggedWait& wait : log_.threads()[*known].waits) {
    if (wait.waker == kNoWaker || !inside.Contains(wait.woken_ns)) continue;
    const Waker& waker = log_.WakerAt(wait.waker);
    if (!finder_.IsByThread(waker)) continue;
    Counts& counts = wake_ups_[{row, waker.thread, wait.reason}];
    ++counts.waits;
    if (finder_.IsSpurious(*known, wait)) ++counts.spurious;
  }
}

std::uint32_t WaitPaths::NumberThread(std::uint32_t thread, const Describe& describe) {
  const auto [found, added] =
      threads_.try_emplace(thread, static_cast<std::uint32_t>(parts_.threads.size()));
  if (added) parts_.threads.push_back(describe(log_.threads()[thread]));
  return found->second;
}

std::uint32_t WaitPaths::Number(PathId path, const Describe& describe,
                                const NumberNode& number_node) {
  numbers_.resize(nodes_.size());
  std::vector<PathId> steps;
  for (PathId id = path; id != 0 && numbers_[id] == 0; id = nodes_[id].parent) steps.push_back(id);
  for (const PathId id : std::views::reverse(steps)) {
    const PathStep& step = nodes_[id].step;
    numbers_[id] = static_cast<std::uint32_t>(parts_.paths.size());
    parts_.paths.push_back(
        {.parent = numbers_[nodes_[id].parent],
         .kind = step.kind,
         .how = step.how,
         .wait = step.wait,
         .estimated = step.estimated,
         .thread = step.thread == kNoWaker ? 0 : 1 + NumberThread(step.thread, describe),
         .node = step.node == 0 ? 0 : number_node(step.node)});
  }
  return numbers_[path];
}

WaitPaths::Parts WaitPaths::Take(const std::vector<std::uint32_t>& rows, const Describe& describe) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, process::WaitReason>, Counts> by_row;
  for (const auto& [key, counts] : wake_ups_) {
    const auto& [row, waker, reason] = key;
    Counts& sum = by_row[{rows[row], NumberThread(waker, describe), reason}];
    sum.waits += counts.waits;
    sum.spurious += counts.spurious;
  }
  for (const auto& [key, counts] : by_row)
    parts_.wake_ups.push_back({.thread = std::get<0>(key),
                               .waker = std::get<1>(key),
                               .wait = std::get<2>(key),
                               .waits = counts.waits,
                               .spurious = counts.spurious});
  return std::move(parts_);
}

}  // namespace profd::aggregate
