#include "daemon/store/api/path_access.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace profd::store {
namespace {

using aggregate::PathKind;
using aggregate::PathNode;
using aggregate::Profile;

constexpr std::uint32_t kAnn = 30;

// Threads of ann, of root, of ann and others, and one of a process that the profile does not have.
// Each waits for the one before it, which runs.
Profile MakeProfile() {
  Profile profile;
  profile.wakers = true;
  const process::Owner owners[] = {{.uid = kAnn, .sole = true, .user = "ann"},
                                   {.uid = 0, .sole = true, .user = "root"},
                                   {.uid = kAnn, .sole = false, .user = "ann"}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    aggregate::ProfileProcess process;
    process.key = {10 + i, 1};
    process.owner = owners[i];
    profile.processes.push_back(process);
    aggregate::ProfileThread thread;
    thread.key = {10 + i, 1};
    thread.process = i;
    profile.threads.push_back(thread);
  }
  for (std::uint32_t i = 0; i < 4; ++i)
    profile.path_threads.push_back({.key = {10 + i, 1},
                                    .process = {10 + i, 1},
                                    .comm = "t" + std::to_string(i),
                                    .process_comm = "p" + std::to_string(i)});
  profile.paths = {{},
                   {.parent = 0, .kind = PathKind::kWaits, .thread = 1, .node = 5},  // ann's
                   {.parent = 1, .kind = PathKind::kWaits, .thread = 2, .node = 6},  // root's
                   {.parent = 2, .kind = PathKind::kRuns, .thread = 1, .node = 7},   // ann's
                   {.parent = 1, .kind = PathKind::kRuns, .thread = 3},              // shared
                   {.parent = 0, .kind = PathKind::kRuns, .thread = 4},              // unknown
                   {.parent = 1, .kind = PathKind::kTimer, .node = 8}};
  for (std::uint32_t path = 0; path < profile.paths.size(); ++path) {
    aggregate::ProfileSample sample;
    sample.state = process::State::kBlocked;
    sample.path = path;
    profile.samples.push_back(sample);
  }
  for (std::uint32_t waker = 0; waker < 4; ++waker)
    profile.wake_ups.push_back({.thread = 0, .waker = waker, .waits = 1});
  return profile;
}

std::string TextOf(const Profile& profile, std::uint32_t path) {
  std::string text;
  for (; path != 0; path = profile.paths.at(path).parent) {
    const PathNode& step = profile.paths.at(path);
    std::string one = step.kind == PathKind::kOtherUser ? "other user"
                      : step.thread == 0                ? "timer"
                                         : profile.path_threads.at(step.thread - 1).comm;
    if (step.node != 0) one += ":" + std::to_string(step.node);
    text = text.empty() ? one : one + " " + text;
  }
  return text;
}

std::vector<std::string> TextsOf(const Profile& profile) {
  std::vector<std::string> texts;
  for (const auto& sample : profile.samples) texts.push_back(TextOf(profile, sample.path));
  return texts;
}

TEST(PathAccessTest, WhoMaySeeAllSeesAll) {
  const Profile selected = Select(MakeProfile(), {});
  EXPECT_EQ(TextsOf(selected), (std::vector<std::string>{"", "t0:5", "t0:5 t1:6", "t0:5 t1:6 t0:7",
                                                         "t0:5 t2", "t3", "t0:5 timer:8"}));
  EXPECT_EQ(selected.wake_ups.size(), 4u);
}

TEST(PathAccessTest, AFilterChoosesWhoWaitsAndNotForWhom) {
  Filter filter;
  filter.pids = {10};
  const Profile selected = Select(MakeProfile(), filter);
  EXPECT_EQ(selected.threads.size(), 1u);
  EXPECT_EQ(TextsOf(selected)[3], "t0:5 t1:6 t0:7");
}

TEST(PathAccessTest, AUserSeesNothingOfOthersOnPaths) {
  Filter filter;
  filter.exclusive_owner = kAnn;
  const Profile selected = Select(MakeProfile(), filter);
  ASSERT_EQ(selected.threads.size(), 1u);
  EXPECT_EQ(TextsOf(selected),
            (std::vector<std::string>{"", "t0:5", "t0:5 other user", "t0:5 other user",
                                      "t0:5 other user", "other user", "t0:5 timer:8"}));
  ASSERT_EQ(selected.wake_ups.size(), 1u);
  EXPECT_EQ(selected.wake_ups[0].waker, 0u);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(selected.path_threads[i].comm, "");
    EXPECT_EQ(selected.path_threads[i].key.tid, 0u);
  }
  for (std::size_t i = 1; i < selected.paths.size(); ++i)
    EXPECT_LT(selected.paths[i].parent, i) << "parents come first";
}

TEST(PathAccessTest, OnlyThreadsThatAreNamedAreUsed) {
  Profile profile = MakeProfile();
  profile.samples.resize(2);
  profile.wake_ups.resize(1);
  profile.wake_ups[0].waker = 2;
  EXPECT_EQ(UsedPathThreads(profile), (std::vector<bool>{true, false, true, false}));
}

TEST(PathAccessTest, AThreadOfWhichOnlyTheNameIsKnownIsTheSameEachTime) {
  const auto one = NamedPathThread("comm", "process");
  EXPECT_EQ(one.key, NamedPathThread("comm", "process").key);
  EXPECT_NE(one.key, NamedPathThread("comm", "other").key);
  EXPECT_EQ(one.key.tid, 0u);
  EXPECT_EQ(one.comm, "comm");
  EXPECT_EQ(one.process_comm, "process");
}

}  // namespace
}  // namespace profd::store
