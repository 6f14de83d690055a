// ProfileMerge: merges the profiles of consecutive windows into one profile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/merge/path_merge.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {

// What a merged profile may hold at most. `counters` and `dropped` of the result say what was
// summed or left out because of a limit.
struct MergeLimits {
  std::size_t processes = 100'000;
  std::size_t threads = 200'000;
  std::size_t frames = 300'000;
  std::size_t nodes = 1'000'000;
  std::size_t samples = 1'000'000;
  std::size_t paths = 200'000;
};

// Merges windows in the order in which they are added. Used by one thread. The limits and the
// largest window bound its memory.
//
// - Time: the result lays the windows end to end from the start of the first one. So its length is
//   the time that windows cover, and a thread that existed all along has elapsed = end - begin as
//   before, whatever the clocks of the host did between windows. A counter has the time that no
//   window covers.
// - Threads: the same key is the same thread. Its clocks add up. It begins with its first begin and
//   ends with its last end. So exact ns stay exact, and so does the closure error.
// - Samples: those of one thread, stack, state, wait reason, path, flags and GIL word within one
//   window become one sample. Weights and counts are added; the time is the first one's. If there
//   are more than the limit, the same is done within two windows, then four, and so on. If even one
//   sample for the whole time is too much, the lightest samples lose their stacks and paths. No
//   weight is ever lost.
// - Paths and wake-ups: see PathMerge.
// - Groups of short-lived threads (thread_groups.h) of the same key become one; their members add
// up.
// - Edges (sampling_error.h) are those of one profile's points: the result has none.
// - Processes and threads that changed (name, cgroup) have their last description.
class ProfileMerge {
 public:
  explicit ProfileMerge(const MergeLimits& limits = {});

  // Adds a window whose samples and paths already have node numbers that are common to all
  // windows; 0: no stack. `nodes` and `frames` of the window are not read.
  void Add(const Profile& window);
  // Adds a window; node_of[n] is the common number of its node n.
  void Add(const Profile& window, std::span<const std::uint32_t> node_of);

  // Returns the common numbers of a node's parent (0: the root) and of its frame.
  using NodeLookup = std::function<StackNode(std::uint32_t node)>;
  using FrameLookup = std::function<symbolize::Frame(std::uint32_t frame)>;
  // Builds the result, and looks up each node and frame that samples need once. Nothing may be
  // called afterwards.
  [[nodiscard]] Profile Finish(const NodeLookup& node_at, const FrameLookup& frame_at);
  // Builds the result without `nodes` and `frames`; the samples keep the common numbers. Nothing
  // may be called afterwards.
  [[nodiscard]] Profile FinishWithoutStacks();

  [[nodiscard]] std::size_t windows() const { return windows_; }

 private:
  struct Row {
    std::uint32_t cell = 0;  // samples of different cells stay apart
    ProfileSample sample;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void AddHead(const Profile& window);
  void AddPeriods(const Profile& window);
  std::vector<std::uint32_t> AddProcesses(const Profile& window);
  std::vector<std::uint32_t> AddThreads(const Profile& window);
  std::uint32_t AddThread(const ProfileThread& part, std::uint32_t process);
  // Sums equal rows that were added since the last call.
  void SumRows();
  // Makes cells larger until there are few enough rows.
  void ShrinkRows();
  // Takes the stacks of the lightest rows away.
  void CutRows();
  void AddStacks(Profile& profile, const NodeLookup& node_at, const FrameLookup& frame_at) const;

  const MergeLimits limits_;
  Profile merged_;
  std::size_t windows_ = 0;
  std::uint64_t gap_ns_ = 0;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t last_end_unix_ns_ = 0;
  std::uint32_t cell_shift_ = 0;  // a cell has 2^cell_shift_ windows
  PathMerge paths_;
  std::vector<Row> rows_;
  std::size_t summed_rows_ = 0;  // the number of rows, from the first, that SumRows has summed
  std::unordered_map<ProcessKey, std::uint32_t> process_of_;
  std::unordered_map<ThreadKey, std::uint32_t> thread_of_;
  std::uint64_t processes_left_out_ = 0;
  std::uint64_t threads_left_out_ = 0;
  std::uint64_t left_out_ns_ = 0;
  std::uint64_t stacks_left_out_ = 0;
  std::uint64_t period_changes_ = 0;
};

// Merges whole profiles, each with its own nodes and frames, in this order.
[[nodiscard]] Profile MergeProfiles(std::span<const ProfileRef> windows,
                                    const MergeLimits& limits = {});

}  // namespace profd::aggregate
