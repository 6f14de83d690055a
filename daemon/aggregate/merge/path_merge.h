// PathMerge: on whom threads wait, over consecutive windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {

// Job: makes one prefix tree of the paths that samples of all windows have, and sums wake-ups by
// waiter, waker and reason. Threads on paths are the same if their keys are; the last description
// stands. Used by one thread. Owner: ProfileMerge. Paths without a sample are left out.
//
// Windows can come from a damaged file: whatever an index says, the result is a tree.
//
// - Windows without wakers beside others that have them: the paths of their blocked samples end in
//   kNotSeen, as no wake-up was captured. Where no window has wakers, the result has no paths.
// - Limit: a path that does not fit loses its outer steps. If not even the first one fits, it is
//   kLost. Both are counted.
class PathMerge {
 public:
  // Numbers of paths until Finish; 0: none.
  using PathId = std::uint32_t;
  // In `thread_of`: the thread was left out.
  static constexpr std::uint32_t kLeftOut = UINT32_MAX;

  explicit PathMerge(std::size_t max_paths);

  // PathOf is about this window from now on, which must live until the last such call. node_of[n]
  // is the common number of its node n; empty: its nodes have such numbers. thread_of[t] is the
  // index of its thread t in the result.
  void BeginWindow(const Profile& window, std::span<const std::uint32_t> node_of,
                   std::span<const std::uint32_t> thread_of);
  [[nodiscard]] PathId PathOf(const ProfileSample& sample);

  struct Parts {
    bool wakers = false;
    std::vector<PathNode> paths;  // with common numbers of nodes
    std::vector<PathThread> threads;
    std::vector<WakeUpCount> wake_ups;
    std::uint64_t cut = 0;               // paths that have lost steps
    std::uint64_t wake_ups_dropped = 0;  // waits that are in no count
    std::uint64_t without_wakers_ns = 0;
  };
  // Numbers the paths in the order in which the samples use them. Nothing may be called afterwards.
  [[nodiscard]] Parts Finish(std::span<ProfileSample> samples);

 private:
  using Key = std::tuple<PathId, PathKind, PathHow, process::WaitReason, bool, std::uint32_t,
                         std::uint32_t>;
  struct Counts {
    std::uint64_t waits = 0;
    std::uint64_t spurious = 0;
  };
  static constexpr PathId kUnknown = UINT32_MAX;

  void AddWakeUps(std::span<const std::uint32_t> thread_of);
  [[nodiscard]] PathId Number(std::uint32_t path);
  // The step as a child of `parent`, with numbers that are common to all windows. `parent` itself:
  // there is no room.
  [[nodiscard]] PathId Child(PathId parent, const PathNode& step);
  [[nodiscard]] PathId Intern(const PathNode& node);
  // 1 + index into threads_ of a thread of the window; 0: none.
  [[nodiscard]] std::uint32_t ThreadNumber(std::uint32_t thread);

  const std::size_t max_paths_;
  bool wakers_ = false;
  std::uint64_t without_wakers_ns_ = 0;
  std::uint64_t cut_ = 0;
  std::uint64_t wake_ups_dropped_ = 0;
  std::vector<PathNode> nodes_;  // `thread`: 1 + index into threads_
  std::map<Key, PathId> children_;
  std::vector<PathThread> threads_;
  std::unordered_map<ThreadKey, std::uint32_t> thread_of_;
  // By waiter, waker and reason.
  std::map<std::tuple<std::uint32_t, std::uint32_t, process::WaitReason>, Counts> wake_ups_;

  // Of the present window:
  const Profile* window_ = nullptr;
  std::span<const std::uint32_t> node_of_;
  std::vector<PathId> numbers_;                // by path; kUnknown: no sample has needed it yet
  std::vector<std::uint32_t> thread_numbers_;  // by path thread; 0: none has needed it yet
  std::vector<std::uint32_t> steps_;
};

}  // namespace profd::aggregate
