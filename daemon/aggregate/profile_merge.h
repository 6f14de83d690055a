// ProfileMerge: profiles of windows, one after the other, become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {

// What a merged profile may hold at most. Nothing that is over a limit goes unnoticed: counters and
// `dropped` of the result say what was summed or left out.
struct MergeLimits {
  std::size_t processes = 100'000;
  std::size_t threads = 200'000;
  std::size_t frames = 300'000;
  std::size_t nodes = 1'000'000;
  std::size_t samples = 1'000'000;
};

// Merges windows in the order in which they are added. Pure; memory is bounded by the limits and
// the largest window. Used by one thread.
//
// - Time: the windows stand one right behind the other from the first one's start, so the length
//   of the result is the time that windows cover, and a thread that was there all along has
//   elapsed = end - begin as before, whatever the host's clocks did in between. Notes say how much
//   time lay between windows.
// - Threads: the same key is the same thread. Its clocks add up, it begins where it first did and
//   ends where it last did: exact ns stay exact, and so does the closure error.
// - Samples of one thread, stack, state, wait reason, flags and GIL word within one window become
//   one: weights and counts are added, the time is the first one's. Where there are more than the
//   limit, that is done within two windows, four and so on; no weight is ever lost by it. If even
//   one for all of the time are too many, those beyond have no stack.
// - Of processes and threads that changed (name, cgroup), the last description stands.
class ProfileMerge {
 public:
  explicit ProfileMerge(const MergeLimits& limits = {});

  // `window.nodes` and `frames` are not read: its samples' nodes mean numbers that are common to
  // all windows, 0 for no stack.
  void Add(const Profile& window);
  // As Add, where node_of[n] is that common number of the window's node n.
  void Add(const Profile& window, std::span<const std::uint32_t> node_of);

  // The place of a common number: its parent's number (0: the root), and its frame's number.
  using NodeLookup = std::function<StackNode(std::uint32_t node)>;
  using FrameLookup = std::function<symbolize::Frame(std::uint32_t frame)>;
  // Only nodes and frames that samples need are looked up, each once. Nothing else may be called
  // afterwards.
  [[nodiscard]] Profile Finish(const NodeLookup& node_at, const FrameLookup& frame_at);
  // Leaves `nodes` and `frames` empty, and the common numbers in the samples.
  [[nodiscard]] Profile FinishUnplaced();

  [[nodiscard]] std::size_t windows() const { return windows_; }

 private:
  struct Row {
    std::uint32_t cell = 0;
    ProfileSample sample;
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void AddHead(const Profile& window);
  void AddPeriods(const Profile& window);
  std::vector<std::uint32_t> AddProcesses(const Profile& window);
  std::vector<std::uint32_t> AddThreads(const Profile& window);
  void AddThread(const ProfileThread& part, std::uint32_t process,
                 std::vector<std::uint32_t>& places);
  void SumRows();
  void ShrinkRows();
  void CutRows();
  void PlaceStacks(Profile& profile, const NodeLookup& node_at, const FrameLookup& frame_at) const;

  const MergeLimits limits_;
  Profile merged_;
  std::size_t windows_ = 0;
  std::uint64_t gap_ns_ = 0;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t last_end_unix_ns_ = 0;
  std::uint32_t cell_shift_ = 0;  // samples are summed within 2^cell_shift_ windows
  std::vector<Row> rows_;
  std::size_t summed_rows_ = 0;  // of rows_, the first ones, that SumRows has seen
  std::unordered_map<ProcessKey, std::uint32_t> process_of_;
  std::unordered_map<ThreadKey, std::uint32_t> thread_of_;
  std::uint64_t processes_left_out_ = 0;
  std::uint64_t threads_left_out_ = 0;
  std::uint64_t left_out_ns_ = 0;
  std::uint64_t stacks_left_out_ = 0;
  std::uint64_t period_changes_ = 0;
};

// All of them, in this order.
[[nodiscard]] Profile MergeProfiles(std::span<const ProfileRef> windows,
                                    const MergeLimits& limits = {});

}  // namespace profd::aggregate
