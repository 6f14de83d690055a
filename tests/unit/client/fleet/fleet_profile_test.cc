#include "client/fleet/fleet_profile.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <span>
#include <string>

#include "client/fleet/fleet_wakers.h"
#include "client/profile/check_profile.h"
#include "client/profile/on_whom.h"
#include "client/profile/report/report_time.h"
#include "client/profile/spinning.h"

namespace profd::client {
namespace {

FleetQuestion Cart() {
  FleetQuestion question;
  question.service = "cart";
  question.apart = {FleetKey::kVersion};
  return question;
}

Coverage Hour() {
  Coverage coverage;
  coverage.hosts = 3;
  coverage.from_s = 1'000;
  coverage.to_s = 4'600;
  return coverage;
}

FleetStacks Stacks() {
  return {
      {1, {{"f", "main"}, {"a.so", "cart"}, {"f.c", ""}, {v1::FRAME_NATIVE, v1::FRAME_NATIVE}}},
      {2, {{"g.py", "main"}, {"", "cart"}, {"/g.py", ""}, {v1::FRAME_PYTHON, v1::FRAME_NATIVE}}},
      {3, {{"(other)"}, {""}, {""}, {v1::FRAME_PSEUDO}}}};
}

FleetRow Row(FleetState state, std::uint64_t hash, std::uint64_t ns, std::string version = "1.4.2",
             std::string thread = "worker-#") {
  return {.keys = {std::move(version)},
          .thread = std::move(thread),
          .state = state,
          .wait = state == FleetState::kBlocked ? v1::WAIT_NET : v1::WAIT_NONE,
          .hash = hash,
          .ns = ns,
          .points = 1};
}

std::vector<FleetRow> EveryState() {
  return {Row(FleetState::kRunning, 1, 1'000), Row(FleetState::kSpinning, 1, 200),
          Row(FleetState::kRunnable, 2, 30), Row(FleetState::kBlocked, 2, 4'000),
          Row(FleetState::kStolen, 0, 5)};
}

TEST(FleetProfile, StatesOfAThreadAddUpToItsTime) {
  const v1::Profile profile =
      ProfileOf(Cart(), EveryState(), Stacks(), {{{"1.4.2"}, 0, 3, 180}}, Hour());
  ASSERT_TRUE(CheckProfile(profile));
  ASSERT_EQ(profile.threads_size(), 1);
  const v1::ThreadClock& clock = profile.threads(0).clock();
  EXPECT_EQ(clock.on_cpu_ns(), 1'200U);
  EXPECT_EQ(clock.runnable_after_wakeup_ns(), 30U);
  EXPECT_EQ(clock.blocked_interruptible_ns(), 4'000U);
  EXPECT_EQ(clock.stolen_exact_ns(), 5U);
  EXPECT_EQ(profile.threads(0).elapsed_ns(), 5'235U);
  const auto& weights = profile.samples().weight_ns();
  EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}), 5'235U);
}

TEST(FleetProfile, PartsOfTimeAreThoseOfTheTables) {
  const v1::Profile profile = ProfileOf(Cart(), EveryState(), Stacks(), {}, Hour());
  const ReportTime time = TimeOf(profile);
  EXPECT_EQ(time[TimePart::kWorking].ns, 1'000U);
  EXPECT_EQ(time[TimePart::kSpinning].ns, 200U);
  EXPECT_EQ(time[TimePart::kRunnable].ns, 30U);
  EXPECT_EQ(time[TimePart::kBlocked].ns, 4'000U);
  EXPECT_EQ(time[TimePart::kStolen].ns, 5U);
  ASSERT_EQ(profile.rules_size(), 1);
  EXPECT_EQ(RuleTimes(profile).front().text, "spin (by the rules of each host)");
}

TEST(FleetProfile, AVersionIsAProcessWithItsHosts) {
  std::vector<FleetRow> rows = EveryState();
  rows.push_back(Row(FleetState::kRunning, 1, 7, "1.4.1"));
  const v1::Profile profile =
      ProfileOf(Cart(), rows, Stacks(), {{{"1.4.1"}, 0, 2, 9}, {{"1.4.2"}, 0, 3, 180}}, Hour());
  ASSERT_EQ(profile.processes_size(), 2);
  EXPECT_EQ(profile.processes(0).comm(), "cart 1.4.1");
  EXPECT_EQ(profile.processes(0).group_size(), 2U);
  EXPECT_EQ(profile.processes(1).labels().at("service.version"), "1.4.2");
  EXPECT_EQ(profile.processes(1).labels().at("service.name"), "cart");
}

TEST(FleetProfile, FramesKeepWhatTheyAre) {
  const v1::Profile profile = ProfileOf(Cart(), EveryState(), Stacks(), {}, Hour());
  bool python = false;
  for (const v1::Frame& frame : profile.frames())
    python = python || (frame.kind() == v1::FRAME_PYTHON && frame.file() == "/g.py");
  EXPECT_TRUE(python);
}

TEST(FleetProfile, WhatALimitCutOffAndWhatIsNotDeliveredIsCounted) {
  const v1::Profile profile =
      ProfileOf(Cart(),
                {Row(FleetState::kRunning, kRestOfStacks, 11), Row(FleetState::kRunning, 3, 4),
                 Row(FleetState::kRunning, 99, 5)},
                Stacks(), {}, Hour());
  std::map<std::string, std::uint64_t> counters;
  for (const v1::NamedCount& count : profile.counters()) counters[count.name()] = count.count();
  EXPECT_EQ(counters["fleet_rest_ns"], 15U);
  EXPECT_EQ(counters["fleet_stacks_missing"], 1U);
  EXPECT_EQ(TimeOf(profile).all().ns, 20U);
}

TEST(FleetProfile, HasAsManyThreadsAsLivedOnAverage) {
  const v1::Profile profile = ProfileOf(
      Cart(), {Row(FleetState::kBlocked, 1, 12 * 3'600'000'000'000)}, Stacks(), {}, Hour());
  EXPECT_EQ(profile.threads(0).group_size(), 12U);
}

TEST(FleetProfile, EqualAnswersMakeEqualProfiles) {
  std::vector<FleetRow> rows = EveryState();
  const std::string one =
      ProfileOf(Cart(), rows, Stacks(), {}, Hour()).samples().SerializeAsString();
  std::ranges::reverse(rows);
  EXPECT_EQ(ProfileOf(Cart(), rows, Stacks(), {}, Hour()).samples().SerializeAsString(), one);
}

// Of a thread of the process itself, which waits for one of another service, which runs; and a
// timer.
FleetPaths Paths() {
  return {{21,
           {.steps = {{.kind = v1::PATH_WAITS,
                       .wait = v1::WAIT_NET,
                       .thread = "pool-#",
                       .service = "cart",
                       .own = true,
                       .stack = 2},
                      {.kind = v1::PATH_RUNS, .thread = "writer", .service = "db", .stack = 1}},
            .estimated = true}},
          {22, {.steps = {{.kind = v1::PATH_TIMER}}}}};
}

FleetRow Blocked(std::uint64_t ns, std::uint64_t path, std::uint64_t points = 1) {
  FleetRow row = Row(FleetState::kBlocked, 2, ns);
  row.path = path;
  row.points = points;
  return row;
}

std::vector<FleetRow> RowsOnWhom() {
  return {Row(FleetState::kRunning, 1, 1'000), Blocked(700, 21), Blocked(200, 22), Blocked(60, 0),
          Blocked(40, 0, 0)};
}

TEST(FleetProfile, SaysOnWhomThreadsWaitAsOneOfAHostDoes) {
  const v1::Profile profile = ProfileOf(Cart(), RowsOnWhom(), Stacks(), {}, Hour(), Paths());
  ASSERT_TRUE(CheckProfile(profile));
  EXPECT_TRUE(profile.wakers());
  const std::uint32_t thread = 0;
  std::map<std::string, std::uint64_t> chains;
  for (const WhomRow& row : OnWhom(profile, std::span(&thread, 1))) {
    chains[ChainOf(row.steps)] += row.ns;
    if (row.ns != 700) continue;
    EXPECT_EQ(row.end(), v1::PATH_RUNS);
    ASSERT_EQ(row.stacks.size(), 1U);
    EXPECT_EQ(row.stacks[0].state, v1::STATE_ON_CPU);
    const v1::StackNode& leaf = profile.nodes(static_cast<int>(row.stacks[0].node) - 1);
    EXPECT_EQ(profile.frames(static_cast<int>(leaf.frame())).name(), "f");
  }
  EXPECT_EQ(
      chains,
      (std::map<std::string, std::uint64_t>{
          {"pool-# < db/writer", 700}, {"a timer", 200}, {"wake-up not seen", 60}, {"", 40}}));
  for (const v1::PathNode& path : profile.paths())
    EXPECT_EQ(path.estimated(), path.kind() == v1::PATH_RUNS);
}

TEST(FleetProfile, HasNoPathsWhereNoHostKnowsThem) {
  const v1::Profile profile = ProfileOf(Cart(), EveryState(), Stacks(), {}, Hour(), Paths());
  EXPECT_FALSE(profile.wakers());
  EXPECT_EQ(profile.samples().path_size(), 0);
  EXPECT_EQ(profile.paths_size(), 0);
}

TEST(FleetProfile, APathThatIsNotDeliveredIsCounted) {
  const v1::Profile profile = ProfileOf(Cart(), {Blocked(5, 98), Blocked(6, 99), Blocked(7, 22)},
                                        Stacks(), {}, Hour(), Paths());
  ASSERT_TRUE(CheckProfile(profile));
  std::map<std::string, std::uint64_t> counters;
  for (const v1::NamedCount& count : profile.counters()) counters[count.name()] = count.count();
  EXPECT_EQ(counters["fleet_paths_missing"], 2U);
  EXPECT_EQ(WakersOfThreads(profile)[0].at(""), 11U);
}

TEST(FleetWakersLine, SaysOfHowMuchTheWakerIsKnown) {
  const v1::Profile profile = ProfileOf(Cart(), RowsOnWhom(), Stacks(), {}, Hour(), Paths());
  EXPECT_EQ(WakersLine({8, 3}, profile),
            "of 90.0 % of the blocked time the waker is known: 3 of 8 hosts keep wakers");
  EXPECT_EQ(WakersLine({1, 1}, profile),
            "of 90.0 % of the blocked time the waker is known: 1 of 1 host keeps wakers");
  EXPECT_EQ(WakersLine({8, 0}, profile), "");
  EXPECT_EQ(WakersLine({8, 3}, ProfileOf(Cart(), {Row(FleetState::kRunning, 1, 1)}, Stacks(), {},
                                         Hour(), Paths())),
            "");
}

}  // namespace
}  // namespace profd::client
