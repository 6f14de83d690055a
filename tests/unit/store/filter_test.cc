#include "daemon/store/api/filter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace profd::store {
namespace {

TEST(MatchesGlob, TextsStarsAndQuestionMarks) {
  EXPECT_TRUE(MatchesGlob("redis-server", "redis-server"));
  EXPECT_FALSE(MatchesGlob("redis", "redis-server"));
  EXPECT_TRUE(MatchesGlob("redis*", "redis-server"));
  EXPECT_TRUE(MatchesGlob("*server", "redis-server"));
  EXPECT_TRUE(MatchesGlob("*s?r*r", "redis-server"));
  EXPECT_FALSE(MatchesGlob("redis-serve?r", "redis-server"));
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_FALSE(MatchesGlob("?", ""));
  EXPECT_TRUE(MatchesGlob("", ""));
  EXPECT_FALSE(MatchesGlob("", "x"));
  EXPECT_TRUE(MatchesGlob("a**b", "ab"));
  EXPECT_FALSE(MatchesGlob("[ab]", "a"));  // brackets are text: kernel threads have them
  EXPECT_TRUE(MatchesGlob("kworker/?:*", "kworker/0:1-events"));
}

TEST(MatchesGlob, ManyStarsEndSoon) {
  std::string pattern;
  for (int i = 0; i < 2'000; ++i) pattern += "*a";
  EXPECT_FALSE(MatchesGlob(pattern + "b", std::string(20'000, 'a')));
}

TEST(Labels, ValuesOfOneNameAreAlternativesAndNamesMustAllMatch) {
  const auto labels = ParseLabels(
      std::vector<std::string>{"service.name=cart", "a=b=c", "service.name=shop-*", "empty="});
  ASSERT_TRUE(labels);
  ASSERT_EQ(labels->size(), 3u);
  EXPECT_TRUE(MatchesLabels(*labels, {{"service.name", "cart"}, {"a", "b=c"}}));
  EXPECT_TRUE(MatchesLabels(*labels, {{"service.name", "shop-1"}, {"a", "b=c"}, {"other", "x"}}));
  EXPECT_FALSE(MatchesLabels(*labels, {{"service.name", "cart"}}));
  EXPECT_FALSE(MatchesLabels(*labels, {{"service.name", "cart2"}, {"a", "b=c"}}));
  EXPECT_FALSE(MatchesLabels(*labels, {{"service.name", "cart"}, {"a", "b=c"}, {"empty", "no"}}));
  EXPECT_TRUE(MatchesLabels({}, {}));
}

TEST(Labels, WhatIsNoneIsRefused) {
  for (const char* text : {"", "service.name", "=cart"}) {
    const auto labels = ParseLabels(std::vector<std::string>{text});
    ASSERT_FALSE(labels) << text;
    EXPECT_EQ(labels.error().code, ErrorCode::kInvalidArgument);
  }
}

class FilterTest : public ::testing::Test {
 protected:
  FilterTest() {
    process_.key = {41, 1};
    process_.shown_pid = 1;
    process_.comm = "postgres";
    process_.executable = "/usr/lib/postgresql/15/bin/postgres";
    process_.cgroup = "/system.slice/postgresql@15-main.service";
    thread_.key = {42, 1};
    thread_.shown_tid = 2;
    thread_.comm = "checkpointer";
  }
  aggregate::ProfileProcess process_;
  aggregate::ProfileThread thread_;
};

TEST_F(FilterTest, AnEmptyFilterLetsAllPass) {
  EXPECT_TRUE(Matches(Filter{}, process_));
  EXPECT_TRUE(Matches(Filter{}, thread_));
  EXPECT_TRUE(Matches(Filter{}, aggregate::ProfileSample{}));
}

TEST_F(FilterTest, OneOfAListAndEachList) {
  Filter filter;
  filter.comms = {"redis*", "postgres"};
  EXPECT_TRUE(Matches(filter, process_));
  filter.pids = {7};
  EXPECT_FALSE(Matches(filter, process_));
  filter.pids = {7, 1};
  EXPECT_TRUE(Matches(filter, process_));
  filter.pids = {41};
  EXPECT_TRUE(Matches(filter, process_));
  filter.cgroups = {"/system.slice/*"};
  EXPECT_TRUE(Matches(filter, process_));
  filter.cgroups = {"/user.slice/*"};
  EXPECT_FALSE(Matches(filter, process_));
}

TEST_F(FilterTest, ExecutablesByPathOrName) {
  Filter filter;
  for (const char* text : {"postgres", "/usr/lib/postgresql/15/bin/postgres", "/usr/lib/*"}) {
    filter.executables = {text};
    EXPECT_TRUE(Matches(filter, process_)) << text;
  }
  filter.executables = {"bin/postgres"};
  EXPECT_FALSE(Matches(filter, process_));
}

TEST_F(FilterTest, WhoDoesNotSeeAllSeesWhatIsExclusivelyTheirs) {
  Filter filter;
  filter.exclusive_owner = 114;
  EXPECT_FALSE(Matches(filter, process_));  // its owner is unknown
  process_.owner.uid = 114;
  EXPECT_FALSE(Matches(filter, process_));  // it has had other rights
  process_.owner.sole = true;
  EXPECT_TRUE(Matches(filter, process_));
  filter.users = {"0"};
  EXPECT_FALSE(Matches(filter, process_));
  filter.users.clear();
  filter.exclusive_owner = 0;
  EXPECT_FALSE(Matches(filter, process_));
}

TEST_F(FilterTest, OwnersByNameOrUid) {
  Filter filter;
  filter.users = {"*"};
  EXPECT_FALSE(Matches(filter, process_));  // its owner is unknown
  process_.owner.uid = 114;
  process_.owner.user = "postgres";
  for (const char* text : {"postgres", "post*", "114"}) {
    filter.users = {text};
    EXPECT_TRUE(Matches(filter, process_)) << text;
  }
  filter.users = {"0"};
  EXPECT_FALSE(Matches(filter, process_));
}

TEST_F(FilterTest, ThreadsByNameOrNumber) {
  Filter filter;
  for (const char* text : {"check*", "2", "42"}) {
    filter.threads = {text};
    EXPECT_TRUE(Matches(filter, thread_)) << text;
  }
  filter.threads = {"4"};
  EXPECT_FALSE(Matches(filter, thread_));
}

TEST_F(FilterTest, SamplesByStateAndReason) {
  aggregate::ProfileSample sample;
  sample.state = process::State::kBlocked;
  sample.wait = process::WaitReason::kNet;
  Filter filter;
  filter.state = process::State::kBlocked;
  EXPECT_TRUE(Matches(filter, sample));
  filter.wait = process::WaitReason::kIo;
  EXPECT_FALSE(Matches(filter, sample));
  filter.wait = process::WaitReason::kNet;
  filter.state = process::State::kOnCpu;
  EXPECT_FALSE(Matches(filter, sample));
}

TEST_F(FilterTest, SelectRenumbersAndKeepsWholeClocks) {
  aggregate::Profile profile;
  profile.processes = {process_, process_};
  profile.processes[0].comm = "other";
  profile.threads = {thread_, thread_, thread_};
  profile.threads[0].process = 0;
  profile.threads[1].process = profile.threads[2].process = 1;
  profile.threads[2].clock.on_cpu_ns = 5;
  for (const std::uint32_t thread : {0u, 1u, 2u, 2u, 9u}) {
    aggregate::ProfileSample sample;
    sample.thread = thread;
    sample.node = 3;
    profile.samples.push_back(sample);
  }
  profile.samples[3].state = process::State::kRunnable;
  profile.threads[1].comm = "walwriter";
  Filter filter;
  filter.comms = {"postgres"};
  filter.threads = {"checkpointer"};
  filter.state = process::State::kRunnable;
  const auto selected = Select(profile, filter);
  ASSERT_EQ(selected.processes.size(), 1u);
  EXPECT_EQ(selected.processes[0].comm, "postgres");
  ASSERT_EQ(selected.threads.size(), 1u);
  EXPECT_EQ(selected.threads[0].process, 0u);
  EXPECT_EQ(selected.threads[0].clock.on_cpu_ns, 5u);
  ASSERT_EQ(selected.samples.size(), 1u);
  EXPECT_EQ(selected.samples[0].thread, 0u);
  EXPECT_EQ(selected.samples[0].node, 3u);
}

}  // namespace
}  // namespace profd::store
