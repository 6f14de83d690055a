// WaitPaths: the paths of a profile, and how often threads ended waits of others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/waits/path.h"
#include "daemon/aggregate/waits/path_finder.h"
#include "daemon/aggregate/waits/wait_log.h"
#include "daemon/aggregate/weights/sampling_error.h"
#include "daemon/aggregate/weights/weights.h"

namespace profd::aggregate {

// Job: cuts sampled waits where the path changes, interns the paths, and puts them into the profile
// in the order in which its samples use them. Used once, by the thread that builds the profile.
// Owner: ProfileAssembly.
class WaitPaths {
 public:
  // Numbers of paths here; 0: none. Finish changes them.
  using PathId = std::uint32_t;
  // Neighbouring points of a wait with one path.
  struct Run {
    PathId path = 0;
    PointRun points;
    std::uint32_t count = 0;  // of the points, within the thread's time in the session
  };
  // A wait has at most so many runs: of a longer one some points stand for all.
  static constexpr std::uint64_t kMaxRuns = 64;

  WaitPaths(const WaitLog& log, PathFinder::Frames frames, std::uint64_t point_seed)
      : log_(log),
        finder_(log, std::move(frames)),
        point_seed_(point_seed),
        nodes_(1),
        numbers_(1),
        parts_{.paths = {PathNode{}}, .threads = {}, .wake_ups = {}} {}

  // The runs of the wait that begins then, in order of time. Empty: no point of it lies within
  // `inside`.
  [[nodiscard]] std::vector<Run> RunsOf(const ThreadKey& thread, std::uint64_t begin_ns,
                                        const PointRun& points, const Window& inside);
  // The same of a wait that has not ended, by the thread that holds the mutex when the session
  // ends. Never empty.
  [[nodiscard]] std::vector<Run> RunsOfOpen(const ThreadKey& thread, std::uint64_t begin_ns,
                                            const Window& inside);
  [[nodiscard]] PathId StillWaits() { return Intern(0, {.kind = PathKind::kStillWaits}); }
  // Counts who ended the sampled waits of a thread inside its time. `row`: its index in the
  // profile.
  void CountWakeUps(const ThreadKey& thread, std::uint32_t row, const Window& inside);

  // What the profile says of a thread on paths.
  using Describe = std::function<PathThread(const WaitLog::Thread&)>;
  // The number of a stack in the profile.
  using NumberNode = std::function<std::uint32_t(StackId)>;
  // The number of a path in the profile. Called for its samples in their final order: paths are
  // numbered as the samples use them.
  [[nodiscard]] std::uint32_t Number(PathId path, const Describe& describe,
                                     const NumberNode& number_node);
  // What the profile has of paths.
  struct Parts {
    std::vector<PathNode> paths;
    std::vector<PathThread> threads;
    std::vector<WakeUpCount> wake_ups;
  };
  // Once, after all numbers. `rows`: the index of each thread in the profile, by the index before
  // threads were grouped.
  [[nodiscard]] Parts Take(const std::vector<std::uint32_t>& rows, const Describe& describe);

 private:
  struct Node {
    PathId parent = 0;
    PathStep step;
  };
  using Key =
      std::tuple<PathId, PathKind, PathHow, process::WaitReason, bool, std::uint32_t, StackId>;
  struct Counts {
    std::uint64_t waits = 0;
    std::uint64_t spurious = 0;
  };

  [[nodiscard]] PathId Intern(PathId parent, const PathStep& step);
  // The index of a thread of the log in the profile's paths.
  [[nodiscard]] std::uint32_t NumberThread(std::uint32_t thread, const Describe& describe);
  [[nodiscard]] PathId PathAt(std::uint32_t thread, const LoggedWait& wait, std::uint64_t time_ns);

  const WaitLog& log_;
  PathFinder finder_;
  const std::uint64_t point_seed_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> numbers_;  // in the profile, by PathId; 0: none yet
  std::unordered_map<std::uint32_t, std::uint32_t> threads_;  // by index in the log
  Parts parts_;
  std::map<Key, PathId> children_;
  // By row of the waiter, thread in the log of the waker, reason.
  std::map<std::tuple<std::uint32_t, std::uint32_t, process::WaitReason>, Counts> wake_ups_;
};

}  // namespace profd::aggregate
