#include "client/profile/on_whom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "client/profile/check_profile.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using testing::Blocked;
using ::testing::ElementsAre;
using testing::ProfileMaker;

constexpr std::array<std::uint32_t, 1> kMain{0};

std::vector<std::string> Names(const WhomRow& row) {
  std::vector<std::string> names;
  for (const WhomStep& step : row.steps) names.push_back(step.name);
  return names;
}

std::uint64_t SumOf(const std::vector<WhomRow>& rows) {
  std::uint64_t ns = 0;
  for (const WhomRow& row : rows) ns += row.ns;
  return ns;
}

TEST(OnWhom, RowsAreReasonAndPathHeaviestFirst) {
  const auto rows = OnWhom(testing::WaitingProfile(), kMain);
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0].ns, 620'000'000u);
  EXPECT_EQ(rows[0].points, 62u);
  EXPECT_EQ(rows[0].wait, v1::WAIT_LOCK);
  EXPECT_EQ(rows[0].end(), v1::PATH_RUNS);
  EXPECT_THAT(Names(rows[0]), ElementsAre("engine-worker"));
  EXPECT_THAT(Names(rows[1]), ElementsAre("engine-worker", "the disk"));
  EXPECT_THAT(Names(rows[2]), ElementsAre("a timer"));
  EXPECT_THAT(Names(rows[3]), ElementsAre("store/io-*"));
  EXPECT_THAT(Names(rows[4]), ElementsAre("still waits"));
  EXPECT_THAT(Names(rows[5]), ElementsAre("wake-up not seen"));
}

TEST(OnWhom, PartsAddUpToTheBlockedTimeOfTheThreads) {
  const v1::Profile profile = testing::WaitingProfile();
  EXPECT_EQ(SumOf(OnWhom(profile, kMain)), 1'000'000'000u);
  EXPECT_EQ(SumOf(OnWhom(profile, std::array{1u})), 210'000'000u);
  EXPECT_EQ(SumOf(OnWhom(profile, std::array{0u, 1u})), 1'210'000'000u);
  EXPECT_TRUE(OnWhom(profile, {}).empty());
}

TEST(OnWhom, WithoutPathsAllIsUnknown) {
  const v1::Profile old = testing::SmallProfile();
  const auto rows = OnWhom(old, kMain);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].steps.empty());
  EXPECT_EQ(rows[0].end(), v1::PATH_NONE);
  EXPECT_TRUE(IsUnknown(rows[0].end()));
  EXPECT_EQ(UnknownName(rows[0].end()), "not sampled");
}

TEST(OnWhom, TheLastThreadOnThePathHasTheStack) {
  const v1::Profile profile = testing::WaitingProfile();
  const auto leaf = [&](const WhomRow& row) {
    const v1::StackNode& node = profile.nodes(static_cast<int>(row.stacks.at(0).node) - 1);
    return profile.frames(static_cast<int>(node.frame())).name();
  };
  const auto rows = OnWhom(profile, kMain);
  EXPECT_EQ(leaf(rows[0]), "get_device_properties");
  EXPECT_EQ(rows[0].stacks[0].state, v1::STATE_ON_CPU);
  EXPECT_EQ(leaf(rows[1]), "fsync");
  EXPECT_EQ(rows[1].stacks[0].wait, v1::WAIT_IO);
  EXPECT_EQ(leaf(rows[2]), "nanosleep") << "no thread is on the path: the waiter's own";
  EXPECT_EQ(leaf(rows[3]), "send") << "the stack of a thread that is not followed is not known";
}

TEST(OnWhom, ThoseWhoStandInOneQueueAreOneStep) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  std::vector<testing::StepSpec> steps;
  for (std::uint32_t i = 1; i <= 3; ++i)
    steps.push_back({.kind = v1::PATH_WAITS,
                     .thread = maker.AddPathThread(5000 + i, "pool-" + std::to_string(i)),
                     .wait = v1::WAIT_LOCK});
  const auto one = maker.AddPath({steps[0], {.kind = v1::PATH_TIMER}});
  const auto three = maker.AddPath({steps[0], steps[1], steps[2], {.kind = v1::PATH_TIMER}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 5, 1, one));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 5, 1, three));
  const auto rows = OnWhom(maker.Make(), kMain);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_THAT(Names(rows[0]), ElementsAre("pool-*", "a timer"));
  EXPECT_TRUE(rows[0].steps[0].several);
  EXPECT_EQ(rows[0].ns, 10'000'000u);
}

TEST(OnWhom, HowTheFirstOfAQueueEndedTheWaitIsKept) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto child = maker.AddPathThread(5001, "sh", 5001, "sh");
  const auto by_end = maker.AddPath({{.thread = child, .how = v1::HOW_EXIT}});
  const auto by_signal = maker.AddPath({{.thread = child, .how = v1::HOW_SIGNAL}});
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_CHILD, 7, 1, by_end));
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_CHILD, 5, 1, by_signal));
  const auto rows = OnWhom(maker.Make(), kMain);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].steps[0].how, v1::HOW_EXIT);
  EXPECT_EQ(rows[1].steps[0].how, v1::HOW_SIGNAL);
}

TEST(OnWhom, WakersAreByTheFirstStep) {
  const auto wakers = WakersOfThreads(testing::WaitingProfile());
  ASSERT_EQ(wakers.size(), 2u);
  EXPECT_EQ(wakers[0], (WakerTimes{{"engine-worker", 830'000'000},
                                   {"[timer]", 98'000'000},
                                   {"store/io-*", 42'000'000},
                                   {"", 30'000'000}}));
  EXPECT_EQ(wakers[1], (WakerTimes{{"[disk]", 210'000'000}}));
  for (const WakerTimes& none : WakersOfThreads(testing::SmallProfile())) EXPECT_TRUE(none.empty());
}

TEST(OnWhom, NamesAreSafeAndSayTheProcessWhereItIsAnother) {
  v1::PathThread thread;
  thread.set_comm("io;1\n\x1b[31m");
  thread.set_pid(7);
  thread.set_process_comm("store");
  EXPECT_EQ(PathThreadName(thread, 7), "io:*??[*m");
  EXPECT_EQ(PathThreadName(thread, 8), "store/io:*??[*m");
  EXPECT_EQ(PathThreadName(thread, 0), "store/io:*??[*m");
  thread.set_comm("store");
  EXPECT_EQ(PathThreadName(thread, 8), "store");
}

TEST(OnWhom, WhatANewerProfdMayKnowIsShown) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(4242, "demo");
  const auto kind = static_cast<v1::PathKind>(99);
  maker.Add(thread, {"f"}, Blocked(v1::WAIT_LOCK, 5, 1, maker.AddPath({{.kind = kind}})));
  const v1::Profile profile = maker.Make();
  ASSERT_TRUE(CheckProfile(profile));
  const auto rows = OnWhom(profile, kMain);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].ns, 5'000'000u);
  EXPECT_FALSE(IsUnknown(kind));
}

}  // namespace
}  // namespace profd::client
