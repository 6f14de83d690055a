#include "daemon/aggregate/merge/profile_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace profd::aggregate {
namespace {

using process::Gil;
using process::State;
using process::WaitReason;

constexpr std::uint64_t kSecond = 1'000'000'000;

// A window of `seconds` s of one process with one thread per tid, each on CPU for half of it.
class Window {
 public:
  Window(std::uint64_t start_s, std::uint64_t seconds, std::vector<std::uint32_t> tids = {7}) {
    profile_.start_ns = start_s * kSecond;
    profile_.end_ns = (start_s + seconds) * kSecond;
    profile_.start_unix_ns = (1'000'000 + start_s) * kSecond;
    profile_.on_cpu_period_ns = 10'000'000;
    profile_.nodes.resize(1);
    ProfileProcess process;
    process.key = {7, 1};
    process.comm = "demo";
    profile_.processes.push_back(process);
    for (const auto tid : tids) {
      ProfileThread thread;
      thread.key = {tid, 1};
      thread.begin_ns = profile_.start_ns;
      thread.end_ns = profile_.end_ns;
      thread.clock.on_cpu_ns = seconds * kSecond / 2;
      thread.clock.blocked_ns[PROFD_IOWAIT] = seconds * kSecond - thread.clock.on_cpu_ns;
      thread.clock.on_cpu_count = 3;
      profile_.threads.push_back(thread);
    }
  }
  // `stack` is a word of one letter for each frame, root first.
  Window& Add(std::uint32_t thread, const std::string& stack, std::uint64_t weight_ns,
              std::uint64_t offset_ns = 0, State state = State::kOnCpu,
              WaitReason wait = WaitReason::kNone) {
    std::uint32_t node = 0;
    for (const char name : stack) node = Child(node, std::string(1, name));
    ProfileSample sample;
    sample.time_ns = profile_.start_ns + offset_ns;
    sample.raw_weight_ns = sample.weight_ns = weight_ns;
    sample.thread = thread;
    sample.node = node;
    sample.state = state;
    sample.wait = wait;
    profile_.samples.push_back(sample);
    return *this;
  }
  Profile& profile() { return profile_; }
  ProfileRef Make() const { return std::make_shared<const Profile>(profile_); }

 private:
  std::uint32_t Child(std::uint32_t parent, const std::string& name) {
    const auto next = static_cast<std::uint32_t>(profile_.nodes.size());
    const auto [found, added] = children_.try_emplace({parent, name}, next);
    if (added) {
      symbolize::Frame frame;
      frame.name = name;
      profile_.nodes.push_back({parent, static_cast<std::uint32_t>(profile_.frames.size())});
      profile_.frames.push_back(frame);
    }
    return found->second;
  }

  Profile profile_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> children_;
};

std::string StackOf(const Profile& profile, std::uint32_t node) {
  std::string stack;
  for (; node != 0; node = profile.nodes[node].parent)
    stack.insert(0, profile.frames[profile.nodes[node].frame].name);
  return stack;
}

// tid, stack, state -> weight, over the whole profile.
using Weights = std::map<std::tuple<std::uint32_t, std::string, State>, std::uint64_t>;
Weights WeightsOf(const Profile& profile) {
  Weights weights;
  for (const auto& sample : profile.samples)
    weights[{profile.threads[sample.thread].key.tid, StackOf(profile, sample.node),
             sample.state}] += sample.weight_ns;
  return weights;
}

TEST(ProfileMerge, KeepsWhatALaterWindowDoesNotKnowOfAProcess) {
  Window a(100, 10);
  Window b(110, 10);
  Window c(120, 10);
  a.profile().processes[0].executable = b.profile().processes[0].executable = "/bin/demo";
  a.profile().processes[0].build_id = "abcd";
  b.profile().processes[0].comm = "renamed";
  c.profile().processes[0].executable = "/bin/other";
  const auto of_two = MergeProfiles(std::vector{a.Make(), b.Make()}).processes.at(0);
  EXPECT_EQ(of_two.comm, "renamed");
  EXPECT_EQ(of_two.build_id, "abcd");
  const auto of_three = MergeProfiles(std::vector{a.Make(), b.Make(), c.Make()}).processes.at(0);
  EXPECT_EQ(of_three.executable, "/bin/other");
  EXPECT_EQ(of_three.build_id, "") << "it is another program's";
}

TEST(ProfileMerge, BelongsToAUserAloneOnlyIfEachWindowDoes) {
  const process::Owner ann{.uid = 30, .sole = true, .user = "ann"};
  const process::Owner root{.uid = 0, .sole = true, .user = "root"};
  const auto merged = [](const process::Owner& first, const process::Owner& second) {
    Window a(100, 10);
    Window b(110, 10);
    a.profile().processes[0].owner = first;
    b.profile().processes[0].owner = second;
    return MergeProfiles(std::vector{a.Make(), b.Make()}).processes.at(0).owner;
  };
  EXPECT_TRUE(merged(ann, ann).sole);
  for (const auto& other :
       {root, process::Owner{.uid = 30, .sole = false, .user = "ann"}, process::Owner()}) {
    EXPECT_FALSE(merged(ann, other).sole);
    EXPECT_FALSE(merged(other, ann).sole);
    EXPECT_EQ(merged(other, ann).uid, 30u);
  }
}

TEST(ProfileMerge, AddsUpTheClocksOfOneThreadToTheNs) {
  Window a(100, 10);
  Window b(110, 10);
  a.profile().threads[0].clock.on_cpu_ns = 3'333'333'331;
  a.profile().threads[0].clock.blocked_ns[PROFD_IOWAIT] = 6'666'666'669;
  const Profile merged = MergeProfiles(std::vector{a.Make(), b.Make()});
  ASSERT_EQ(merged.threads.size(), 1u);
  const ProfileThread& thread = merged.threads[0];
  EXPECT_EQ(thread.clock.on_cpu_ns, 8'333'333'331u);
  EXPECT_EQ(thread.clock.blocked_ns[PROFD_IOWAIT], 11'666'666'669u);
  EXPECT_EQ(thread.clock.on_cpu_count, 6u);
  EXPECT_EQ(thread.end_ns - thread.begin_ns, 20 * kSecond);
  EXPECT_EQ(ClosureError(thread), 0.0);
}

TEST(ProfileMerge, KeepsTheClosureErrorAcrossGapsAndClocksThatJump) {
  Window second(400, 10);                // 290 s later
  Window rebooted(5, 10);                // CLOCK_MONOTONIC began again ...
  rebooted.profile().start_unix_ns = 1;  // ... and the host believes it is 1970
  const Profile merged =
      MergeProfiles(std::vector{Window(100, 10).Make(), second.Make(), rebooted.Make()});
  EXPECT_EQ(merged.end_ns - merged.start_ns, 30 * kSecond);
  EXPECT_EQ(merged.start_unix_ns, 1'000'100 * kSecond);
  EXPECT_EQ(ClosureError(merged.threads[0]), 0.0);
  ASSERT_EQ(merged.counters.size(), 1u);
  EXPECT_EQ(merged.counters[0].name, "window_gaps_ms");
  EXPECT_EQ(merged.counters[0].count, 290'000u);
}

TEST(ProfileMerge, AThreadThatBeganAndEndedInsideKeepsItsOwnLength) {
  Window a(0, 10, {7, 8});
  a.profile().threads[1].begin_ns = 4 * kSecond;
  a.profile().threads[1].began = true;
  Window b(10, 10, {7, 8});
  b.profile().threads[1].end_ns = 13 * kSecond;
  b.profile().threads[1].exited = true;
  const Profile merged = MergeProfiles(std::vector{a.Make(), b.Make(), Window(20, 10).Make()});
  ASSERT_EQ(merged.threads.size(), 2u);
  EXPECT_EQ(merged.threads[1].end_ns - merged.threads[1].begin_ns, 9 * kSecond);
  EXPECT_TRUE(merged.threads[1].began);
  EXPECT_TRUE(merged.threads[1].exited);
  EXPECT_FALSE(merged.threads[0].exited);
}

TEST(ProfileMerge, AKeyDistinguishesThreadsThatHaveOneNumber) {
  Window b(10, 10);
  b.profile().threads[0].key.start_ns = 2;
  EXPECT_EQ(MergeProfiles(std::vector{Window(0, 10).Make(), b.Make()}).threads.size(), 2u);
}

TEST(ProfileMerge, SharesFramesAndStacksOfEqualContent) {
  const auto merged = MergeProfiles(std::vector{
      Window(0, 10).Add(0, "abc", 5).Make(), Window(10, 10).Add(0, "x", 1).Add(0, "ab", 7).Make(),
      Window(20, 10).Add(0, "abc", 9).Make()});
  EXPECT_EQ(merged.frames.size(), 4u);
  EXPECT_EQ(merged.nodes.size(), 5u);
  const Weights expected{
      {{7, "abc", State::kOnCpu}, 14}, {{7, "ab", State::kOnCpu}, 7}, {{7, "x", State::kOnCpu}, 1}};
  EXPECT_EQ(WeightsOf(merged), expected);
}

TEST(ProfileMerge, FramesThatDifferInAnythingStayApart) {
  Window b(10, 10);
  b.Add(0, "a", 1).profile().frames[0].line = 4;
  const auto merged = MergeProfiles(std::vector{Window(0, 10).Add(0, "a", 1).Make(), b.Make()});
  EXPECT_EQ(merged.frames.size(), 2u);
}

TEST(ProfileMerge, SumsEqualSamplesWithinAWindowOnly) {
  Window a(0, 10);
  a.Add(0, "a", 5, 300).Add(0, "a", 6, 100).Add(0, "a", 7, 200, State::kBlocked, WaitReason::kIo);
  const auto merged = MergeProfiles(std::vector{a.Make(), Window(10, 10).Add(0, "a", 3).Make()});
  ASSERT_EQ(merged.samples.size(), 3u);
  EXPECT_EQ(merged.samples[0].time_ns, 100u);
  EXPECT_EQ(merged.samples[0].weight_ns, 11u);
  EXPECT_EQ(merged.samples[0].raw_weight_ns, 11u);
  EXPECT_EQ(merged.samples[0].count, 2u);
  EXPECT_EQ(merged.samples[1].state, State::kBlocked);
  EXPECT_EQ(merged.samples[2].time_ns, 10 * kSecond);
}

TEST(ProfileMerge, SamplesThatDifferStayApart) {
  Window window(0, 10);
  for (int i = 0; i < 6; ++i) window.Add(0, "a", 1);
  auto& samples = window.profile().samples;
  samples[1].state = State::kRunnable;
  samples[2].wait = WaitReason::kNet;
  samples[3].stack_flags = 2;
  samples[4].gil = Gil::kHeld;
  samples[5].exact = true;
  EXPECT_EQ(MergeProfiles(std::vector{window.Make()}).samples.size(), 6u);
}

TEST(ProfileMerge, CountersAndCostsAddUpAndTheLastDescriptionStands) {
  Window a(0, 10);
  Window b(10, 10);
  a.profile().lost = {{"ring", "ring full", 3}};
  b.profile().lost = {{"ring", "ring full", 4}, {"other", "", 1}};
  a.profile().cost.daemon_cpu_ns = 5;
  b.profile().cost.daemon_cpu_ns = 6;
  b.profile().processes[0].comm = "renamed";
  b.profile().on_cpu_period_ns = 20'000'000;
  const auto merged = MergeProfiles(std::vector{a.Make(), b.Make()});
  ASSERT_EQ(merged.lost.size(), 2u);
  EXPECT_EQ(merged.lost[0].count, 7u);
  EXPECT_EQ(merged.cost.daemon_cpu_ns, 11u);
  EXPECT_EQ(merged.processes[0].comm, "renamed");
  EXPECT_EQ(merged.on_cpu_period_ns, 20'000'000u);
  ASSERT_EQ(merged.counters.size(), 1u);
  EXPECT_EQ(merged.counters[0].name, "period_changes");
}

TEST(ProfileMerge, NotesAboutDifferentProcessesStayApart) {
  Window a(0, 10);
  Window b(10, 10);
  a.profile().counters = {{"beyond_share", "PID 1: too often", 3}};
  b.profile().counters = {{"beyond_share", "PID 2: too often", 4},
                          {"beyond_share", "PID 1: too often", 5}};
  const auto merged = MergeProfiles(std::vector{a.Make(), b.Make()});
  ASSERT_EQ(merged.counters.size(), 2u);
  EXPECT_EQ(merged.counters[0].text, "PID 1: too often");
  EXPECT_EQ(merged.counters[0].count, 8u);
  EXPECT_EQ(merged.counters[1].count, 4u);
  // Many windows with a note of their own each: the list stays bounded.
  std::vector<ProfileRef> windows;
  for (std::uint64_t i = 0; i < 2'000; ++i) {
    Window window(i * 10, 10);
    window.profile().counters = {{"beyond_share", "PID " + std::to_string(i), 1}};
    windows.push_back(window.Make());
  }
  const auto many = MergeProfiles(windows).counters;
  EXPECT_LE(many.size(), 501u);
  std::uint64_t sum = 0;
  for (const auto& count : many) sum += count.name == "beyond_share" ? count.count : 0;
  EXPECT_EQ(sum, 2'000u);
}

// A budget that raises the periods of all windows is one entry, not two for each window.
TEST(ProfileMerge, RepeatsNoPeriodThatGoesOnInTheNextWindow) {
  std::vector<ProfileRef> windows;
  for (std::uint64_t i = 0; i < 4; ++i) {
    Window window(i * 10, 10);
    if (i > 0) window.profile().periods = {{window.profile().start_ns, 40'000'000, 0}};
    windows.push_back(window.Make());
  }
  windows.push_back(Window(40, 10).Make());
  const auto periods = MergeProfiles(windows).periods;
  ASSERT_EQ(periods.size(), 2u);
  EXPECT_EQ(periods[0].time_ns, 10 * kSecond);
  EXPECT_EQ(periods[0].on_cpu_period_ns, 40'000'000u);
  EXPECT_EQ(periods[1].time_ns, 40 * kSecond);
  EXPECT_EQ(periods[1].on_cpu_period_ns, 10'000'000u) << "as requested again";
}

std::vector<ProfileRef> ManyWindows(std::uint32_t windows, int stacks) {
  std::vector<ProfileRef> made;
  for (std::uint32_t i = 0; i < windows; ++i) {
    Window window(i * 10, 10);
    for (int j = 0; j < stacks; ++j)
      window.Add(0, std::string("m") + static_cast<char>('A' + j), 100 + i);
    made.push_back(window.Make());
  }
  return made;
}

TEST(ProfileMerge, AtItsLimitGivesUpTimesAndNoWeight) {
  const auto windows = ManyWindows(64, 10);
  MergeLimits limits;
  limits.samples = 100;
  const auto whole = MergeProfiles(windows);
  const auto merged = MergeProfiles(windows, limits);
  EXPECT_EQ(whole.samples.size(), 640u);
  EXPECT_LE(merged.samples.size(), 100u);
  EXPECT_EQ(WeightsOf(merged), WeightsOf(whole));
  EXPECT_TRUE(merged.dropped.empty());
  ASSERT_EQ(merged.counters.size(), 1u);
  EXPECT_EQ(merged.counters[0].name, "windows_summed");
  EXPECT_EQ(merged.counters[0].count, 16u);
}

TEST(ProfileMerge, WhereOneForAllTimeIsTooManyTheHeavyStacksStay) {
  Window window(0, 10);
  for (int i = 0; i < 40; ++i)
    window.Add(0, std::string("m") + static_cast<char>('A' + i), i == 17 ? 1000 : 10);
  MergeLimits limits;
  limits.samples = 20;
  const auto merged = MergeProfiles(std::vector{window.Make()}, limits);
  EXPECT_LE(merged.samples.size(), 20u);
  std::uint64_t sum = 0;
  for (const auto& [what, ns] : WeightsOf(merged)) sum += ns;
  EXPECT_EQ(sum, 1390u);
  EXPECT_EQ((WeightsOf(merged)[{7, "mR", State::kOnCpu}]), 1000u);
  ASSERT_EQ(merged.dropped.size(), 1u);
  EXPECT_EQ(merged.dropped[0].name, "merge_stacks");
}

TEST(ProfileMerge, CountsProcessesThreadsNodesAndFramesThatFindNoRoom) {
  MergeLimits limits;
  limits.threads = 2;
  limits.nodes = 3;
  limits.frames = 1;
  Window window(0, 10, {7, 8, 9});
  window.Add(0, "ab", 5).Add(1, "cd", 5).Add(2, "ef", 5);
  const auto merged = MergeProfiles(std::vector{window.Make()}, limits);
  EXPECT_EQ(merged.threads.size(), 2u);
  EXPECT_LE(merged.nodes.size(), 3u);
  std::map<std::string, std::uint64_t> dropped;
  for (const auto& count : merged.dropped) dropped[count.name] = count.count;
  EXPECT_EQ(dropped["merge_threads"], 1u);
  EXPECT_EQ(dropped["merge_threads_ms"], 10'000u);
  EXPECT_GT(dropped["merge_stacks_cut"], 0u);
  EXPECT_GT(dropped["merge_frames"], 0u);

  MergeLimits no_process;
  no_process.processes = 0;
  const auto none = MergeProfiles(std::vector{window.Make()}, no_process);
  EXPECT_TRUE(none.threads.empty());
  EXPECT_TRUE(none.samples.empty());
}

TEST(ProfileMerge, IndicesThatLeadNowhereDoNoHarm) {
  Window window(0, 10);
  window.Add(0, "ab", 5).Add(0, "c", 6);
  window.profile().nodes[1].parent = 2;
  window.profile().nodes[3].frame = 99;
  window.profile().samples.push_back(window.profile().samples[0]);
  window.profile().samples.back().thread = 9;
  window.profile().samples.push_back(window.profile().samples[0]);
  window.profile().samples.back().node = 77;
  window.profile().threads.push_back(window.profile().threads[0]);
  window.profile().threads.back().process = 5;
  const auto merged = MergeProfiles(std::vector{window.Make()});
  EXPECT_EQ(merged.threads.size(), 1u);
  for (const auto& sample : merged.samples) EXPECT_LT(sample.node, merged.nodes.size());
}

TEST(ProfileMerge, MergingInStepsGivesTheSameWeights) {
  const auto windows = ManyWindows(12, 5);
  std::vector<ProfileRef> halves;
  for (const std::size_t first : {0u, 6u})
    halves.push_back(
        std::make_shared<const Profile>(MergeProfiles(std::span(windows).subspan(first, 6))));
  EXPECT_EQ(WeightsOf(MergeProfiles(halves)), WeightsOf(MergeProfiles(windows)));
}

}  // namespace
}  // namespace profd::aggregate
