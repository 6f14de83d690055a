#include "client/screens/threads/threads_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "client/screens/threads/thread_sheet.h"
#include "client/text/text.h"
#include "tests/support/sample_profiles.h"
#include "tests/unit/client/screens/golden.h"

namespace profd::client {
namespace {

using nlohmann::json;

std::string Rendered(const v1::Profile& profile, std::size_t width = 120, bool complete = false) {
  return RenderThreads(profile, {.width = width, .palette = Palette(), .complete = complete});
}

TEST(ThreadsViewTest, MatchesItsGolden) {
  for (const std::size_t width : {80u, 120u})
    ExpectGolden(Rendered(testing::PoolProfile(), width),
                 "threads_" + std::to_string(width) + ".txt");
}

TEST(ThreadsViewTest, WhereThreadsRanMatchesItsGolden) {
  for (const std::size_t width : {80u, 140u})
    ExpectGolden(Rendered(testing::PlacedProfile(), width),
                 "threads_placed_" + std::to_string(width) + ".txt");
}

TEST(ThreadsViewTest, HardwareCountersMatchTheirGolden) {
  for (const std::size_t width : {80u, 120u})
    ExpectGolden(Rendered(testing::CountedProfile(), width),
                 "threads_counted_" + std::to_string(width) + ".txt");
}

TEST(ThreadsViewTest, WithoutCountersOneSentenceSaysWhy) {
  const auto rendered = [](const v1::Profile& profile, bool counters) {
    return RenderThreads(profile, {.width = 120, .palette = Palette(), .counters = counters});
  };
  v1::Profile profile = testing::SmallProfile();
  EXPECT_TRUE(rendered(profile, true)
                  .ends_with("note    no hardware counters: the profile was collected without "
                             "--counters\n"));
  profile.mutable_hardware_counters()->set_missing("no hardware counters: why");
  for (const bool counters : {true, false})
    EXPECT_TRUE(rendered(profile, counters).ends_with("note    no hardware counters: why\n"));
  EXPECT_EQ(json::parse(ThreadsJson(profile))["no_hardware_counters"], "no hardware counters: why");
}

TEST(ThreadsViewTest, CsvAndJsonHaveCountsWhereThereAreSome) {
  const json counted = json::parse(ThreadsJson(testing::CountedProfile()));
  EXPECT_FALSE(counted.contains("no_hardware_counters"));
  for (const json& thread : counted["threads"]) {
    if (thread["thread"] != "chaser") continue;
    EXPECT_EQ(thread["counted_ns"], 400'000'000);
    EXPECT_EQ(thread["cycles"], 1'200'000'000);
    EXPECT_EQ(thread["instructions"], 412'500'000);
    EXPECT_EQ(thread["cache_misses"], 22'500'000);
  }
  EXPECT_NE(ThreadsCsv(testing::CountedProfile()).find(",cycles,instructions,cache_misses\n"),
            std::string::npos);
  EXPECT_EQ(ThreadsCsv(testing::SmallProfile()).find("cycles"), std::string::npos);
}

TEST(ThreadsViewTest, DistancesThatAreNotKnownAreDashes) {
  v1::Profile profile = testing::PlacedProfile();
  profile.mutable_threads(4)->mutable_clock()->clear_core_migrations();
  EXPECT_NE(Rendered(profile, 140).find("  60.0      -       -      -  "), std::string::npos)
      << Rendered(profile, 140);
}

TEST(ThreadsViewTest, JsonLeavesOutWhatIsNotKnown) {
  const json placed = json::parse(ThreadsJson(testing::PlacedProfile()))["threads"];
  for (const json& thread : placed) {
    if (thread["thread"] != "mover") continue;
    EXPECT_EQ(thread["core_migrations"], 500);
    EXPECT_EQ(thread["cache_migrations"], 400);
    EXPECT_EQ(thread["node_migrations"], 400);
    EXPECT_EQ(thread["sibling_samples"], 200);
    EXPECT_EQ(thread["sibling_busy_samples"], 0);
    EXPECT_EQ(thread["node_ns"], "0:1000000000 1:1000000000");
  }
  for (const json& thread : json::parse(ThreadsJson(testing::PoolProfile()))["threads"])
    for (const char* name : {"core_migrations", "sibling_samples", "node_ns"})
      EXPECT_FALSE(thread.contains(name));
}

TEST(ThreadsViewTest, ColourChangesNoText) {
  const std::string plain = Rendered(testing::PoolProfile());
  const std::string coloured =
      RenderThreads(testing::PoolProfile(), {.width = 120, .palette = Palette(true)});
  EXPECT_NE(coloured, plain);
  EXPECT_EQ(WithoutColor(coloured), plain);
}

TEST(ThreadsViewTest, LinesFitTheWidth) {
  for (const v1::Profile& profile :
       {testing::PoolProfile(), testing::PlacedProfile(), testing::CountedProfile(),
        testing::ManyThreadsProfile(30), testing::HostileProfile(), testing::EmptyProfile(),
        v1::Profile()}) {
    for (const std::size_t width : {80u, 120u, 200u}) {
      std::istringstream lines(Rendered(profile, width));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST(ThreadsViewTest, WhatIsLeftOutIsOneRow) {
  const v1::Profile profile = testing::ManyThreadsProfile(30);
  EXPECT_NE(Rendered(profile).find("... and 10 more"), std::string::npos) << Rendered(profile);
  EXPECT_EQ(Rendered(profile, 120, true).find("... and"), std::string::npos);
}

TEST(ThreadsViewTest, NotesSayWhatIsMissing) {
  const std::string pool = Rendered(testing::PoolProfile());
  EXPECT_NE(pool.find("note    3 sampling points left out: a sample may be missing there\n"),
            std::string::npos);
  EXPECT_TRUE(pool.ends_with("note    no hardware counters here\n"));
  const std::string small = Rendered(testing::SmallProfile());
  EXPECT_EQ(small.find("hardware counters"), std::string::npos);
  EXPECT_NE(small.find("note    not known how many threads ran at once: "), std::string::npos);
}

TEST(ThreadsViewTest, InSnapshotModeRunnableIsOneColumn) {
  v1::Profile profile = testing::PoolProfile();
  for (v1::Thread& thread : *profile.mutable_threads()) {
    v1::ThreadClock& clock = *thread.mutable_clock();
    clock.set_runnable_after_wakeup_ns(clock.runnable_after_wakeup_ns() +
                                       clock.runnable_after_preemption_ns());
    clock.set_runnable_after_preemption_ns(0);
  }
  EXPECT_EQ(Rendered(profile).find("preempted"), std::string::npos);
}

TEST(ThreadsViewTest, JsonHasProcessesThreadsAndAdvice) {
  const json report = json::parse(ThreadsJson(testing::PoolProfile()));
  EXPECT_EQ(report["length_ns"], 10'000'000'000u);
  EXPECT_EQ(report["cpus"], 8);
  ASSERT_EQ(report["processes"].size(), 2u);
  const json& process = report["processes"][0];
  EXPECT_EQ(process["pid"], 4242);
  EXPECT_EQ(process["usable_cpus"], 2);
  EXPECT_EQ(process["usable_by"], "affinity");
  EXPECT_DOUBLE_EQ(process["effective_use"].get<double>(), 0.35);
  EXPECT_EQ(process["points"], 1'000);
  EXPECT_EQ(process["unknown_points"], 3);
  EXPECT_EQ(process["at_once"][3], (json{{"threads", 4}, {"running", 0}, {"wanting", 400}}));
  EXPECT_EQ(process["throttled_periods"], 12);
  EXPECT_EQ(process["throttled_ns"], 1'200'000'000u);
  EXPECT_FALSE(report["processes"][1].contains("at_once"));
  ASSERT_EQ(report["threads"].size(), 6u);
  const json& busiest = report["threads"][0];
  EXPECT_EQ(busiest["thread"], "pool-0");
  EXPECT_EQ(busiest["working_ns"], 4'000'000'000u);
  EXPECT_EQ(busiest["blocked_lock_ns"], 3'990'000'000u);
  EXPECT_EQ(busiest["runnable_preempted_ns"], 500'000'000u);
  EXPECT_EQ(busiest["involuntary_switches"], 567);
  EXPECT_EQ(busiest["cpus"], "0 1");
  EXPECT_EQ(report["advice"][0]["kind"], "oversubscribed");
  EXPECT_EQ(report["advice"][0]["pid"], 4242);
}

TEST(ThreadsViewTest, CsvHasARowAThread) {
  std::istringstream lines(ThreadsCsv(testing::PoolProfile()));
  std::string line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("pid,process,tid,thread,threads,elapsed_ns,working_ns,")) << line;
  std::getline(lines, line);
  EXPECT_TRUE(line.starts_with("4242,demo,4243,pool-0,1,10000000000,4000000000,0,2000000000,"))
      << line;
  std::size_t rows = 1;
  while (std::getline(lines, line)) ++rows;
  EXPECT_EQ(rows, 6u);
}

}  // namespace
}  // namespace profd::client
