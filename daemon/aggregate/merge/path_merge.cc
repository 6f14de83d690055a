#include "daemon/aggregate/merge/path_merge.h"

#include <ranges>
#include <utility>

namespace profd::aggregate {
namespace {

// There from the start, so that there is room for them.
constexpr PathMerge::PathId kNotSeenPath = 1;
constexpr PathMerge::PathId kLostPath = 2;

}  // namespace

PathMerge::PathMerge(std::size_t max_paths) : max_paths_(max_paths), nodes_(1) {
  (void)Intern({.parent = 0, .kind = PathKind::kNotSeen});
  (void)Intern({.parent = 0, .kind = PathKind::kLost});
}

void PathMerge::BeginWindow(const Profile& window, std::span<const std::uint32_t> node_of,
                            std::span<const std::uint32_t> thread_of) {
  window_ = &window;
  node_of_ = node_of;
  if (!window.wakers) {
    without_wakers_ns_ += WindowLength(window);
    return;
  }
  wakers_ = true;
  numbers_.assign(window.paths.size(), kUnknown);
  if (!numbers_.empty()) numbers_[0] = 0;
  thread_numbers_.assign(window.path_threads.size(), 0);
  AddWakeUps(thread_of);
}

void PathMerge::AddWakeUps(std::span<const std::uint32_t> thread_of) {
  for (const WakeUpCount& count : window_->wake_ups) {
    if (count.thread >= thread_of.size() || thread_of[count.thread] == kLeftOut ||
        count.waker >= window_->path_threads.size())
      continue;
    const std::tuple key{thread_of[count.thread], ThreadNumber(count.waker) - 1, count.wait};
    auto known = wake_ups_.find(key);
    if (known == wake_ups_.end()) {
      if (wake_ups_.size() >= max_paths_) {
        wake_ups_dropped_ += count.waits;
        continue;
      }
      known = wake_ups_.emplace(key, Counts{}).first;
    }
    known->second.waits += count.waits;
    known->second.spurious += count.spurious;
  }
}

PathMerge::PathId PathMerge::PathOf(const ProfileSample& sample) {
  if (window_->wakers) return sample.path < numbers_.size() ? Number(sample.path) : 0;
  const bool sampled = sample.count != 0 || sample.exact;
  return sampled && sample.state == process::State::kBlocked ? kNotSeenPath : 0;
}

PathMerge::PathId PathMerge::Number(std::uint32_t path) {
  steps_.clear();
  while (numbers_[path] == kUnknown) {
    steps_.push_back(path);
    const std::uint32_t parent = window_->paths[path].parent;
    path = parent < path ? parent : 0;
  }
  PathId at = numbers_[path];
  bool full = false;
  for (const std::uint32_t step : std::views::reverse(steps_)) {
    // What follows a step that does not fit belongs to no other path.
    if (!full) {
      const PathId next = Child(at, window_->paths[step]);
      full = next == at;
      at = full && at == 0 ? kLostPath : next;
    }
    numbers_[step] = at;
  }
  if (full) ++cut_;
  return at;
}

PathMerge::PathId PathMerge::Child(PathId parent, const PathNode& step) {
  PathNode node = step;
  node.parent = parent;
  if (!node_of_.empty()) node.node = step.node < node_of_.size() ? node_of_[step.node] : 0;
  const bool named = step.thread != 0 && step.thread <= thread_numbers_.size();
  node.thread = named ? ThreadNumber(step.thread - 1) : 0;
  return Intern(node);
}

PathMerge::PathId PathMerge::Intern(const PathNode& node) {
  const Key key{node.parent,    node.kind,   node.how, node.wait,
                node.estimated, node.thread, node.node};
  if (const auto known = children_.find(key); known != children_.end()) return known->second;
  const auto next = static_cast<PathId>(nodes_.size());
  if (next > kLostPath && nodes_.size() >= max_paths_) return node.parent;
  nodes_.push_back(node);
  children_.emplace(key, next);
  return next;
}

std::uint32_t PathMerge::ThreadNumber(std::uint32_t thread) {
  std::uint32_t& number = thread_numbers_[thread];
  if (number != 0) return number;
  const PathThread& described = window_->path_threads[thread];
  const auto [known, added] =
      thread_of_.try_emplace(described.key, static_cast<std::uint32_t>(threads_.size()));
  if (added)
    threads_.push_back(described);
  else
    threads_[known->second] = described;
  return number = known->second + 1;
}

PathMerge::Parts PathMerge::Finish(std::span<ProfileSample> samples) {
  Parts parts;
  if (!wakers_) {
    for (ProfileSample& sample : samples) sample.path = 0;
    return parts;
  }
  parts.wakers = true;
  parts.cut = cut_;
  parts.wake_ups_dropped = wake_ups_dropped_;
  parts.without_wakers_ns = without_wakers_ns_;
  parts.paths.resize(1);
  std::vector<std::uint32_t> path_of(nodes_.size(), 0);
  std::vector<std::uint32_t> thread_of(threads_.size(), 0);  // 1 + index into parts.threads
  const auto number_thread = [&](std::uint32_t thread) {
    if (thread_of[thread] == 0) {
      parts.threads.push_back(std::move(threads_[thread]));
      thread_of[thread] = static_cast<std::uint32_t>(parts.threads.size());
    }
    return thread_of[thread];
  };
  for (ProfileSample& sample : samples) {
    steps_.clear();
    for (PathId id = sample.path; id != 0 && path_of[id] == 0; id = nodes_[id].parent)
      steps_.push_back(id);
    for (const PathId id : std::views::reverse(steps_)) {
      PathNode node = nodes_[id];
      node.parent = path_of[node.parent];
      if (node.thread != 0) node.thread = number_thread(node.thread - 1);
      path_of[id] = static_cast<std::uint32_t>(parts.paths.size());
      parts.paths.push_back(node);
    }
    sample.path = path_of[sample.path];
  }
  for (const auto& [key, counts] : wake_ups_)
    parts.wake_ups.push_back({.thread = std::get<0>(key),
                              .waker = number_thread(std::get<1>(key)) - 1,
                              .wait = std::get<2>(key),
                              .waits = counts.waits,
                              .spurious = counts.spurious});
  return parts;
}

}  // namespace profd::aggregate
