#include "daemon/aggregate/thread_groups.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/aggregate/merge/profile_merge.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1'000 * kMs;

// A window of 10 s from 100 s on.
class ThreadGroupsTest : public ::testing::Test {
 protected:
  ThreadGroupsTest() {
    profile_.start_ns = 100 * kSecond;
    profile_.end_ns = 110 * kSecond;
    profile_.nodes.resize(9);
  }
  ProfileProcess& AddProcess(const std::string& comm, bool exited) {
    ProfileProcess process;
    process.key = {++pid_, profile_.start_ns + pid_};
    process.shown_pid = pid_;
    process.comm = comm;
    process.executable = "/usr/bin/" + comm;
    process.parent = "make";
    process.exited = exited;
    profile_.processes.push_back(process);
    return profile_.processes.back();
  }
  // Of the last process. It lives for `length_ns`, a third of it on a CPU.
  ProfileThread& AddThread(const std::string& comm, std::uint64_t length_ns, bool first,
                           bool short_lived = true) {
    ProfileThread thread;
    thread.key = {first ? pid_ : 10'000 + ++tid_, profile_.start_ns + 7};
    thread.shown_tid = thread.key.tid;
    thread.process = static_cast<std::uint32_t>(profile_.processes.size() - 1);
    thread.comm = comm;
    thread.begin_ns = profile_.start_ns + pid_ * kMs;
    thread.end_ns = thread.begin_ns + length_ns;
    thread.clock.on_cpu_ns = length_ns / 3;
    thread.clock.blocked_ns[PROFD_INTERRUPTIBLE] = length_ns - length_ns / 3;
    thread.clock.on_cpu_count = 2;
    thread.began = thread.exited = short_lived;
    profile_.threads.push_back(thread);
    ProfileSample sample;
    sample.thread = static_cast<std::uint32_t>(profile_.threads.size() - 1);
    sample.node = 1 + sample.thread % 8;
    sample.time_ns = thread.begin_ns;
    sample.raw_weight_ns = sample.weight_ns = thread.clock.on_cpu_ns;
    profile_.samples.push_back(sample);
    return profile_.threads.back();
  }
  void AddProgram(const std::string& comm, std::uint64_t length_ns) {
    AddProcess(comm, true);
    AddThread(comm, length_ns, true);
  }
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> WeightByNode() const {
    std::map<std::uint32_t, std::uint64_t> weights;
    for (const auto& sample : profile_.samples) weights[sample.node] += sample.weight_ns;
    return weights;
  }
  [[nodiscard]] std::uint64_t Total() const {
    std::uint64_t total = 0;
    for (const auto& thread : profile_.threads) total += ClockTotal(thread.clock);
    return total;
  }

  Profile profile_;
  std::uint32_t pid_ = 0;
  std::uint32_t tid_ = 0;
};

TEST_F(ThreadGroupsTest, ProcessesThatAreAlikeAreOneRowWithTheirSums) {
  for (std::uint64_t i = 1; i <= 5; ++i) AddProgram("cc1", i * kMs);
  const auto weights = WeightByNode();
  const Grouped grouped = GroupShortLived(profile_);
  ASSERT_EQ(profile_.processes.size(), 1u);
  ASSERT_EQ(profile_.threads.size(), 1u);
  EXPECT_EQ(profile_.processes[0].group_size, 5u);
  EXPECT_EQ(profile_.processes[0].key.pid, 0u);
  EXPECT_EQ(profile_.processes[0].shown_pid, 0u);
  const ProfileThread& group = profile_.threads[0];
  EXPECT_EQ(group.group_size, 5u);
  EXPECT_EQ(group.key.tid, 0u);
  EXPECT_EQ(group.comm, "cc1");
  EXPECT_EQ(Elapsed(group), 15 * kMs);
  EXPECT_EQ(ClockTotal(group.clock), 15 * kMs);
  EXPECT_EQ(group.clock.on_cpu_count, 10u);
  EXPECT_EQ(ClosureError(group), 0.0);
  EXPECT_EQ(WeightByNode(), weights);
  for (const auto& sample : profile_.samples) EXPECT_EQ(sample.thread, 0u);
  EXPECT_EQ(grouped.processes.size(), 5u);
  EXPECT_EQ(grouped.threads.size(), 5u);
  EXPECT_EQ(grouped.processes[2].key.pid, 3u);
}

TEST_F(ThreadGroupsTest, WhatDiffersOrLivesOnStaysApart) {
  AddProgram("cc1", kMs);
  AddProgram("ld", kMs);  // only one
  AddProgram("cc1", kMs);
  profile_.processes.back().parent = "ninja";
  AddProgram("cc1", kMs);
  profile_.processes.back().owner.uid = 1000;
  AddProgram("cc1", kMs);
  profile_.processes.back().unit = "build.service";
  AddProcess("cc1", false);
  AddThread("cc1", kSecond, true, false);
  AddProcess("cc1", true);  // exits, but began before
  AddThread("cc1", kSecond, true).began = false;
  const Grouped grouped = GroupShortLived(profile_);
  EXPECT_EQ(profile_.processes.size(), 7u);
  EXPECT_EQ(profile_.threads.size(), 7u);
  EXPECT_TRUE(grouped.processes.empty());
  EXPECT_TRUE(grouped.threads.empty());
}

TEST_F(ThreadGroupsTest, ThreadsOfAProcessThatLivesOnAreGroupedByName) {
  AddProcess("server", false);
  AddThread("server", 10 * kSecond, true, false);
  for (int i = 0; i < 4; ++i) AddThread("request", 2 * kMs, false);
  AddThread("worker", kMs, false);
  AddThread("request", 5 * kSecond, false, false);
  const Grouped grouped = GroupShortLived(profile_);
  ASSERT_EQ(profile_.threads.size(), 4u);
  EXPECT_EQ(profile_.processes[0].group_size, 0u);
  EXPECT_EQ(profile_.threads[1].group_size, 4u);
  EXPECT_EQ(profile_.threads[1].group_elapsed_ns, 8 * kMs);
  EXPECT_EQ(profile_.threads[2].comm, "worker");
  EXPECT_EQ(profile_.threads[2].group_size, 0u);
  EXPECT_EQ(profile_.threads[3].group_size, 0u);
  EXPECT_EQ(grouped.threads.size(), 4u);
}

TEST_F(ThreadGroupsTest, AGroupOfProcessesHasOneThreadForEachName) {
  for (int i = 0; i < 3; ++i) {
    AddProgram("make", 3 * kMs);
    AddThread("job", kMs, false);
    AddThread("job", kMs, false);
  }
  AddThread("rare", kMs, false);
  (void)GroupShortLived(profile_);
  ASSERT_EQ(profile_.threads.size(), 3u);
  EXPECT_EQ(profile_.threads[0].group_size, 3u);
  EXPECT_EQ(profile_.threads[1].group_size, 6u);
  EXPECT_EQ(profile_.threads[2].group_size, 1u);
  EXPECT_EQ(profile_.threads[2].key.tid, 0u) << "the process of this number is in the group";
}

// Whether a process is its user's alone is read from /proc, if there is time. Root sees all.
TEST_F(ThreadGroupsTest, OfRootItDoesNotMatterWhetherTheOwnerWasReadInTime) {
  for (const std::uint32_t uid : {0u, 1000u}) {
    for (const bool sole : {true, true, false, false}) {
      AddProgram("cc1", kMs);
      profile_.processes.back().owner.uid = uid;
      profile_.processes.back().owner.sole = sole;
    }
  }
  (void)GroupShortLived(profile_);
  ASSERT_EQ(profile_.processes.size(), 3u);
  EXPECT_EQ(profile_.processes[0].group_size, 4u);
  EXPECT_FALSE(profile_.processes[0].owner.sole);
  EXPECT_EQ(profile_.processes[1].group_size, 2u);
  EXPECT_TRUE(profile_.processes[1].owner.sole);
  EXPECT_FALSE(profile_.processes[2].owner.sole);
}

TEST_F(ThreadGroupsTest, WhatMembersDoNotShareIsEmpty) {
  AddProgram("cc1", kMs);
  profile_.processes.back().command_line = "cc1 a.c";
  AddProgram("cc1", kMs);
  profile_.processes.back().command_line = "cc1 b.c";
  AddProgram("sh", kMs);
  profile_.processes.back().command_line = "sh -c true";
  AddProgram("sh", kMs);
  profile_.processes.back().command_line = "sh -c true";
  (void)GroupShortLived(profile_);
  ASSERT_EQ(profile_.processes.size(), 2u);
  EXPECT_EQ(profile_.processes[0].command_line, "");
  EXPECT_EQ(profile_.processes[1].command_line, "sh -c true");
}

// A process that spans two windows is short-lived only when both are merged. Nothing gets lost on
// the way, whichever windows the others are in.
TEST_F(ThreadGroupsTest, ProcessesOfOneServiceKeepTheLabelsThatTheyShare) {
  for (const char* instance : {"1", "2"}) {
    AddProgram("cc1", 20 * kMs);
    profile_.processes.back().labels = {
        {"service.name", "build"}, {"service.instance.id", instance}, {"k8s.pod.name", "ci-7"}};
  }
  AddProgram("cc1", 20 * kMs);
  profile_.processes.back().labels = {{"service.name", "other"}};
  (void)GroupShortLived(profile_);
  ASSERT_EQ(profile_.processes.size(), 2u);
  EXPECT_EQ(profile_.processes[0].group_size, 2u);
  EXPECT_EQ(
      profile_.processes[0].labels,
      (std::map<std::string, std::string>{{"k8s.pod.name", "ci-7"}, {"service.name", "build"}}));
  EXPECT_EQ(profile_.processes[1].labels.at("service.name"), "other");
}

TEST_F(ThreadGroupsTest, GroupsOfWindowsBecomeOne) {
  ProfileMerge merge;
  std::uint64_t total_ns = 0;
  for (int window = 0; window < 3; ++window) {
    profile_.processes.clear();
    profile_.threads.clear();
    profile_.samples.clear();
    for (int i = 0; i < 4; ++i) AddProgram("cc1", kMs);
    AddProcess("cc1", window == 1);
    profile_.processes.back().key = {9'999, 1};
    ProfileThread& spans = AddThread("cc1", 2 * kMs, true);
    spans.key = {9'999, 1};
    spans.began = window == 0;
    spans.exited = window == 1;
    if (window == 2) {  // it is gone
      profile_.processes.pop_back();
      profile_.threads.pop_back();
      profile_.samples.pop_back();
    }
    total_ns += Total();
    (void)GroupShortLived(profile_);
    merge.Add(profile_);
    profile_.start_ns += 10 * kSecond;
    profile_.end_ns += 10 * kSecond;
  }
  profile_ = merge.FinishWithoutStacks();
  EXPECT_EQ(profile_.processes.size(), 2u);
  const Grouped grouped = GroupShortLived(profile_);
  ASSERT_EQ(profile_.processes.size(), 1u);
  ASSERT_EQ(profile_.threads.size(), 1u);
  EXPECT_EQ(profile_.processes[0].group_size, 13u);
  EXPECT_EQ(profile_.threads[0].group_size, 13u);
  EXPECT_EQ(ClockTotal(profile_.threads[0].clock), total_ns);
  EXPECT_EQ(grouped.processes.size(), 1u);
  std::uint64_t weight_ns = 0;
  for (const auto& sample : profile_.samples) weight_ns += sample.weight_ns;
  EXPECT_EQ(weight_ns, profile_.threads[0].clock.on_cpu_ns);
}

TEST_F(ThreadGroupsTest, PathsAndWakeUpsNameTheGroups) {
  AddProcess("server", false);
  const ThreadKey server = AddThread("server", 10 * kSecond, true, false).key;
  const ProcessKey lasting = profile_.processes[0].key;
  std::vector<ThreadKey> keys;
  std::vector<ProcessKey> processes;
  for (int i = 0; i < 2; ++i) {
    AddProgram("cc1", kMs);
    keys.push_back(profile_.threads.back().key);
    processes.push_back(profile_.processes.back().key);
  }
  for (int i = 0; i < 2; ++i)
    profile_.path_threads.push_back(
        {.key = keys[i], .process = processes[i], .comm = "cc1", .process_comm = "cc1"});
  profile_.path_threads.push_back(
      {.key = server, .process = lasting, .comm = "server", .process_comm = "server"});
  profile_.path_threads.push_back(
      {.key = {77, 7}, .process = {77, 7}, .comm = "gone", .process_comm = "gone"});
  for (std::uint32_t thread = 0; thread < 3; ++thread)
    profile_.wake_ups.push_back({.thread = thread, .waker = 2, .waits = 1 + thread});
  profile_.wake_ups.push_back({.thread = 99, .waker = 2, .waits = 9});
  (void)GroupShortLived(profile_);
  ASSERT_EQ(profile_.threads.size(), 2u);
  const ProfileThread& group = profile_.threads[1];
  for (const int i : {0, 1}) {
    EXPECT_EQ(profile_.path_threads[i].key, group.key);
    EXPECT_EQ(profile_.path_threads[i].process, profile_.processes[group.process].key);
    EXPECT_EQ(profile_.path_threads[i].comm, "cc1");
    EXPECT_EQ(profile_.path_threads[i].shown_tid, 0u);
  }
  EXPECT_EQ(profile_.path_threads[2].key, server);
  EXPECT_EQ(profile_.path_threads[3].comm, "gone");
  ASSERT_EQ(profile_.wake_ups.size(), 3u);
  EXPECT_EQ(profile_.wake_ups[0].thread, 0u);
  EXPECT_EQ(profile_.wake_ups[1].thread, 1u);
  EXPECT_EQ(profile_.wake_ups[2].thread, 1u);
}

TEST(ThreadGroups, MigrationsByDistanceAddUpIfAllAreKnown) {
  ProfileThread group;
  group.migrations = Migrations{1, 2, 3};
  ProfileThread member;
  member.migrations = Migrations{10, 20, 30};
  AddMember(member, group);
  EXPECT_EQ(group.migrations, (Migrations{11, 22, 33}));
  member.migrations.reset();
  AddMember(member, group);
  EXPECT_FALSE(group.migrations);
}

TEST_F(ThreadGroupsTest, WhatPointsNowhereIsHarmless) {
  AddProgram("cc1", kMs);
  AddProgram("cc1", kMs);
  profile_.threads[1].process = 77;
  profile_.samples[0].thread = 99;
  (void)GroupShortLived(profile_);
  EXPECT_EQ(profile_.threads.size(), 2u);
  for (const auto& sample : profile_.samples) EXPECT_LT(sample.thread, 2u);
}

}  // namespace
}  // namespace profd::aggregate
