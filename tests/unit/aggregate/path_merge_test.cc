#include "daemon/aggregate/merge/path_merge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/aggregate/merge/profile_merge.h"

namespace profd::aggregate {
namespace {

using process::State;
using process::WaitReason;

constexpr std::uint64_t kSecond = 1'000'000'000;

// A window of 10 s of one process whose thread 7 is blocked all the time.
class Window {
 public:
  explicit Window(std::uint64_t start_s, bool wakers = true) {
    profile_.start_ns = start_s * kSecond;
    profile_.end_ns = (start_s + 10) * kSecond;
    profile_.nodes.resize(1);
    profile_.wakers = wakers;
    ProfileProcess process;
    process.key = {7, 1};
    profile_.processes.push_back(process);
    ProfileThread thread;
    thread.key = {7, 1};
    thread.begin_ns = profile_.start_ns;
    thread.end_ns = profile_.end_ns;
    thread.clock.blocked_ns[PROFD_INTERRUPTIBLE] = 10 * kSecond;
    profile_.threads.push_back(thread);
    if (wakers) profile_.paths.resize(1);
  }
  // `path`: tids that wait, then one that runs; 0: a timer.
  Window& Add(const std::vector<std::uint32_t>& path, std::uint64_t weight_ns,
              const std::string& stack = "") {
    std::uint32_t at = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const bool last = i + 1 == path.size();
      PathNode step{.parent = at, .kind = last ? PathKind::kRuns : PathKind::kWaits};
      if (path[i] == 0)
        step.kind = PathKind::kTimer;
      else
        step.thread = 1 + ThreadOf(path[i]);
      if (last && !stack.empty()) step.node = NodeOf(stack);
      profile_.paths.push_back(step);
      at = static_cast<std::uint32_t>(profile_.paths.size() - 1);
    }
    ProfileSample sample;
    sample.time_ns = profile_.start_ns;
    sample.weight_ns = sample.raw_weight_ns = weight_ns;
    sample.state = State::kBlocked;
    sample.wait = WaitReason::kLock;
    sample.path = at;
    profile_.samples.push_back(sample);
    return *this;
  }
  Window& AddWakeUps(std::uint32_t tid, std::uint64_t waits, std::uint64_t spurious) {
    profile_.wake_ups.push_back({.thread = 0,
                                 .waker = ThreadOf(tid),
                                 .wait = WaitReason::kLock,
                                 .waits = waits,
                                 .spurious = spurious});
    return *this;
  }
  Profile& profile() { return profile_; }
  [[nodiscard]] ProfileRef Make() const { return std::make_shared<const Profile>(profile_); }

 private:
  std::uint32_t ThreadOf(std::uint32_t tid) {
    for (std::uint32_t i = 0; i < profile_.path_threads.size(); ++i)
      if (profile_.path_threads[i].key.tid == tid) return i;
    profile_.path_threads.push_back({.key = {tid, 1},
                                     .process = {7, 1},
                                     .comm = "t" + std::to_string(tid),
                                     .process_comm = "demo"});
    return static_cast<std::uint32_t>(profile_.path_threads.size() - 1);
  }
  std::uint32_t NodeOf(const std::string& name) {
    symbolize::Frame frame;
    frame.name = name;
    profile_.frames.push_back(frame);
    profile_.nodes.push_back({0, static_cast<std::uint32_t>(profile_.frames.size() - 1)});
    return static_cast<std::uint32_t>(profile_.nodes.size() - 1);
  }

  Profile profile_;
};

std::string PathText(const Profile& profile, std::uint32_t path) {
  std::string text;
  for (; path != 0; path = profile.paths.at(path).parent) {
    const PathNode& step = profile.paths.at(path);
    std::string one = step.thread == 0 ? "kind " + std::to_string(static_cast<int>(step.kind))
                                       : profile.path_threads.at(step.thread - 1).comm;
    if (step.node != 0) one += ":" + profile.frames.at(profile.nodes.at(step.node).frame).name;
    text = text.empty() ? one : one + " " + text;
  }
  return text;
}

std::map<std::string, std::uint64_t> WeightsOf(const Profile& profile) {
  std::map<std::string, std::uint64_t> weights;
  for (const auto& sample : profile.samples)
    weights[PathText(profile, sample.path)] += sample.weight_ns;
  return weights;
}

using Weights = std::map<std::string, std::uint64_t>;

TEST(PathMerge, EqualPathsOfWindowsBecomeOneWithTheStacksOfTheirSteps) {
  const Profile merged = MergeProfiles(
      std::vector{Window(0).Add({8, 9}, 5, "compute").Add({8, 0}, 1).Make(),
                  Window(10).Add({8, 0}, 3).Add({8, 9}, 7, "compute").Add({9}, 2).Make()});
  EXPECT_TRUE(merged.wakers);
  EXPECT_EQ(WeightsOf(merged), (Weights{{"t8 t9:compute", 12}, {"t8 kind 4", 4}, {"t9", 2}}));
  EXPECT_EQ(merged.paths.size(), 1u + 4) << "t8, its two ends, and t9 that runs";
  EXPECT_EQ(merged.path_threads.size(), 2u);
  for (std::size_t i = 1; i < merged.paths.size(); ++i) EXPECT_LT(merged.paths[i].parent, i);
}

TEST(PathMerge, SamplesThatDifferInTheirPathStayApart) {
  const Profile merged =
      MergeProfiles(std::vector{Window(0).Add({8}, 5).Add({9}, 6).Add({8}, 7).Make()});
  EXPECT_EQ(merged.samples.size(), 2u);
}

TEST(PathMerge, TheLastDescriptionOfAThreadStands) {
  Window later(10);
  later.Add({8}, 1).profile().path_threads[0].comm = "renamed";
  const Profile merged = MergeProfiles(std::vector{Window(0).Add({8}, 1).Make(), later.Make()});
  ASSERT_EQ(merged.path_threads.size(), 1u);
  EXPECT_EQ(merged.path_threads[0].comm, "renamed");
}

TEST(PathMerge, WakeUpsAddUpByWaiterWakerAndReason) {
  const Profile merged =
      MergeProfiles(std::vector{Window(0).AddWakeUps(8, 5, 1).AddWakeUps(9, 2, 0).Make(),
                                Window(10).AddWakeUps(9, 3, 3).AddWakeUps(8, 1, 0).Make()});
  ASSERT_EQ(merged.wake_ups.size(), 2u);
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> counts;
  for (const WakeUpCount& count : merged.wake_ups)
    counts[merged.path_threads.at(count.waker).comm] = {count.waits, count.spurious};
  EXPECT_EQ(counts["t8"], (std::pair<std::uint64_t, std::uint64_t>(6, 1)));
  EXPECT_EQ(counts["t9"], (std::pair<std::uint64_t, std::uint64_t>(5, 3)));
}

TEST(PathMerge, BlockedTimeOfWindowsWithoutWakersIsNotSeen) {
  Window without(10, false);
  without.Add({}, 4);
  ProfileSample runs = without.profile().samples[0];
  runs.state = State::kOnCpu;
  ProfileSample unsampled = without.profile().samples[0];
  unsampled.count = 0;
  without.profile().samples.push_back(runs);
  without.profile().samples.push_back(unsampled);
  const Profile merged = MergeProfiles(std::vector{Window(0).Add({8}, 5).Make(), without.Make()});
  EXPECT_TRUE(merged.wakers);
  EXPECT_EQ(WeightsOf(merged), (Weights{{"t8", 5}, {"kind 10", 4}, {"", 8}}));
  ASSERT_EQ(merged.counters.size(), 1u);
  EXPECT_EQ(merged.counters[0].name, "without_wakers_ms");
  EXPECT_EQ(merged.counters[0].count, 10'000u);
}

TEST(PathMerge, WhereNoWindowHasWakersTheResultHasNone) {
  const Profile merged = MergeProfiles(
      std::vector{Window(0, false).Add({}, 4).Make(), Window(10, false).Add({}, 4).Make()});
  EXPECT_FALSE(merged.wakers);
  EXPECT_TRUE(merged.paths.empty());
  EXPECT_TRUE(merged.counters.empty());
  for (const auto& sample : merged.samples) EXPECT_EQ(sample.path, 0u);
}

TEST(PathMerge, APathThatFindsNoRoomLosesItsOuterStepsAndNoTime) {
  MergeLimits limits;
  limits.paths = 4;  // the root, the two that are always there, and one more
  const Profile merged = MergeProfiles(
      std::vector{Window(0).Add({8, 9, 10}, 5).Add({8, 9}, 6).Add({11, 12}, 7).Make()}, limits);
  EXPECT_EQ(WeightsOf(merged), (Weights{{"t8", 11}, {"kind 11", 7}})) << "and lost";
  ASSERT_EQ(merged.dropped.size(), 1u);
  EXPECT_EQ(merged.dropped[0].name, "merge_paths");
  EXPECT_EQ(merged.dropped[0].count, 3u);
}

TEST(PathMerge, WakeUpsThatFindNoRoomAreCounted) {
  MergeLimits limits;
  limits.paths = 3;
  Window window(0);
  for (std::uint32_t tid = 10; tid < 15; ++tid) window.AddWakeUps(tid, tid, 0);
  const Profile merged = MergeProfiles(std::vector{window.Make()}, limits);
  std::uint64_t waits = 0;
  for (const WakeUpCount& count : merged.wake_ups) waits += count.waits;
  EXPECT_EQ(merged.wake_ups.size(), 3u);
  ASSERT_EQ(merged.dropped.size(), 1u);
  EXPECT_EQ(merged.dropped[0].name, "merge_wake_ups");
  EXPECT_EQ(waits + merged.dropped[0].count, 10u + 11 + 12 + 13 + 14);
}

TEST(PathMerge, IndicesThatLeadNowhereDoNoHarm) {
  Window window(0);
  window.Add({8, 9}, 5, "a").Add({8}, 6).AddWakeUps(8, 1, 0);
  Profile& profile = window.profile();
  profile.paths[1].parent = 2;  // a circle
  profile.paths[2].thread = 99;
  profile.paths[2].node = 99;
  profile.samples.push_back(profile.samples[0]);
  profile.samples.back().path = 99;
  profile.wake_ups.push_back(profile.wake_ups[0]);
  profile.wake_ups.back().thread = 99;
  profile.wake_ups.push_back(profile.wake_ups[0]);
  profile.wake_ups.back().waker = 99;
  const Profile merged = MergeProfiles(std::vector{window.Make()});
  EXPECT_EQ(merged.wake_ups.size(), 1u);
  for (const auto& sample : merged.samples) EXPECT_LT(sample.path, merged.paths.size());
  for (std::size_t i = 1; i < merged.paths.size(); ++i) {
    EXPECT_LT(merged.paths[i].parent, i);
    EXPECT_LE(merged.paths[i].thread, merged.path_threads.size());
    EXPECT_LT(merged.paths[i].node, merged.nodes.size());
  }
}

TEST(PathMerge, MergingInStepsGivesTheSamePaths) {
  std::vector<ProfileRef> windows;
  for (std::uint32_t i = 0; i < 6; ++i)
    windows.push_back(
        Window(i * 10, i != 4)
            .Add(i == 4 ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{8 + i % 2, 20},
                 100 + i)
            .Make());
  std::vector<ProfileRef> halves;
  for (const std::size_t first : {0u, 3u})
    halves.push_back(
        std::make_shared<const Profile>(MergeProfiles(std::span(windows).subspan(first, 3))));
  EXPECT_EQ(WeightsOf(MergeProfiles(halves)), WeightsOf(MergeProfiles(windows)));
}

}  // namespace
}  // namespace profd::aggregate
