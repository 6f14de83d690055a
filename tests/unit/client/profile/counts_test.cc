// What hardware counters have counted: rates of it, and that nothing of it is lost on the way.
#include "client/profile/counters/counts.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "client/profile/check_profile.h"
#include "client/profile/join/profile_join.h"
#include "client/profile/report/report_table.h"
#include "client/profile/report/sample_filter.h"
#include "client/profile/threads/thread_use.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kCyclesOfMs = 3'000'000;  // of testing::CountedProfile

Counts SumOfSamples(const v1::Profile& profile) {
  Counts sum;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i)
    sum += CountsAt(profile.samples(), i);
  return sum;
}

Counts SumOfThreads(const v1::Profile& profile) {
  Counts sum;
  for (const v1::Thread& thread : profile.threads()) sum += CountsOf(thread);
  return sum;
}

TEST(CountsTest, RatesAreQuotients) {
  const Counts counts{
      .counted_ns = 1'000, .cycles = 3'000, .instructions = 1'500, .cache_misses = 6};
  EXPECT_DOUBLE_EQ(*counts.gigahertz(), 3);
  EXPECT_DOUBLE_EQ(*counts.cycles_per_instruction(), 2);
  EXPECT_DOUBLE_EQ(*counts.instructions_per_cycle(), 0.5);
  EXPECT_DOUBLE_EQ(*counts.misses_per_thousand(), 4);
  EXPECT_EQ(CountsText(counts),
            "3.00 GHz, CPI 2.00 (0.50 instructions a cycle), 4.00 cache misses per 1,000 "
            "instructions");
}

TEST(CountsTest, WhatIsNotCountedHasNoRate) {
  EXPECT_FALSE(Counts{}.gigahertz());
  EXPECT_EQ(CountsText({}), "nothing was counted");
  const Counts no_instructions{.counted_ns = 10, .cycles = 20, .cache_misses = 1};
  EXPECT_FALSE(no_instructions.cycles_per_instruction());
  EXPECT_FALSE(no_instructions.misses_per_thousand());
  EXPECT_EQ(CountsText(no_instructions), "2.00 GHz");
  EXPECT_EQ(FormatRate(no_instructions.misses_per_thousand()), "-");
  EXPECT_EQ(FormatRate(9.994), "9.99");
  EXPECT_EQ(FormatRate(12.34), "12.3");
  EXPECT_EQ(FormatRate(123.4), "123");
}

TEST(CountsTest, TheCountedShareOfRunningTimeIsNeverMoreThanAll) {
  const Counts counts{.counted_ns = 983};
  EXPECT_EQ(CountedTimeText(counts, 1'000), "counted for 98.3 % of running time");
  EXPECT_EQ(CountedTimeText(counts, 980), "counted for 100.0 % of running time");
  EXPECT_EQ(CountedTimeText({}, 980), "counted for 0.0 % of running time");
  EXPECT_EQ(CountedTimeText(counts, 0), "");
}

TEST(CountsTest, AProfileSaysWhyNothingIsCounted) {
  v1::Profile profile = testing::CountedProfile();
  EXPECT_EQ(NoCountsText(profile), "");
  profile.mutable_hardware_counters()->Clear();
  EXPECT_EQ(NoCountsText(profile),
            "no hardware counters: the profile was collected without --counters");
  profile.mutable_hardware_counters()->set_missing("no hardware counters: \x1b[31mwhy");
  EXPECT_FALSE(HasCounts(profile));
  EXPECT_EQ(NoCountsText(profile).find('\x1b'), std::string::npos);
}

TEST(CountsTest, TablesAddUpToAllCounts) {
  const v1::Profile profile = testing::CountedProfile();
  ASSERT_TRUE(CheckProfile(profile));
  const Counts all = SumOfThreads(profile);
  EXPECT_EQ(SumOfSamples(profile).cycles, all.cycles);
  for (const char* by : {"function", "thread", "state", "module"}) {
    const auto keys = ParseReportKeys(by);
    ASSERT_TRUE(keys);
    const ReportTable table = TableBy(*keys->front(), profile, {});
    EXPECT_TRUE(table.counted);
    EXPECT_EQ(table.all.counts.cycles, all.cycles) << by;
    EXPECT_EQ(table.all.counts.cache_misses, all.cache_misses) << by;
  }
  const auto keys = ParseReportKeys("function");
  for (const ReportRow& row : TableBy(*keys->front(), profile, {}).rows) {
    if (row.name == "main") {
      EXPECT_EQ(row.self.counts.cycles, 0u);
      EXPECT_EQ(row.total.counts.cycles, all.cycles);
    }
    if (row.name == "allocate") {
      EXPECT_EQ(row.self.counts.cycles, 200 * kCyclesOfMs);
      EXPECT_DOUBLE_EQ(*row.self.counts.cycles_per_instruction(), 1);
    }
    if (row.name == "chase") {
      EXPECT_DOUBLE_EQ(*row.total.counts.cycles_per_instruction(), 8);
      EXPECT_DOUBLE_EQ(*row.total.counts.misses_per_thousand(), 200);
    }
  }
}

TEST(CountsTest, ThreadsHaveTheirOwn) {
  const auto uses = UseOfThreads(testing::CountedProfile());
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].counts.cycles, 600 * kCyclesOfMs);
  EXPECT_EQ(uses[0].counts.instructions, 1'100 * kCyclesOfMs);
  EXPECT_EQ(uses[0].counts.cache_misses, 0u);
  EXPECT_EQ(uses[1].counts.cycles, 400 * kCyclesOfMs);
}

TEST(CountsTest, AFilterKeepsThoseOfItsSamples) {
  const auto filter = SampleFilter::Parse("function = chase");
  ASSERT_TRUE(filter);
  const auto part = filter->Apply(testing::CountedProfile(), nullptr);
  ASSERT_TRUE(part);
  ASSERT_TRUE(CheckProfile(*part));
  EXPECT_EQ(SumOfSamples(*part).cycles, 300 * kCyclesOfMs);
}

TEST(CountsTest, ProfilesOfSeveralHostsAreSums) {
  v1::Profile lacks = testing::CountedProfile();
  lacks.set_host("lacks");
  lacks.mutable_hardware_counters()->Clear();
  lacks.mutable_hardware_counters()->set_missing("no hardware counters: why");
  v1::Samples& samples = *lacks.mutable_samples();
  samples.clear_counted_ns();
  samples.clear_cycles();
  samples.clear_instructions();
  samples.clear_cache_misses();
  for (v1::Thread& thread : *lacks.mutable_threads()) thread.clear_counters();
  for (const bool first : {true, false}) {
    ProfileJoin join;
    ASSERT_TRUE(join.Add(first ? lacks : testing::CountedProfile(), {.name = "one"}));
    ASSERT_TRUE(join.Add(first ? testing::CountedProfile() : lacks, {.name = "other"}));
    const v1::Profile joined = join.Finish();
    ASSERT_TRUE(CheckProfile(joined));
    EXPECT_EQ(NoCountsText(joined), "");
    EXPECT_EQ(SumOfSamples(joined).cycles, 1'000 * kCyclesOfMs);
    EXPECT_EQ(SumOfThreads(joined).cycles, 1'000 * kCyclesOfMs);
  }
}

TEST(CountsTest, ColumnsOfOtherLengthsAreRefused) {
  for (std::size_t column = 0; column < 4; ++column) {
    v1::Profile profile = testing::CountedProfile();
    v1::Samples& samples = *profile.mutable_samples();
    const std::array columns{samples.mutable_counted_ns(), samples.mutable_cycles(),
                             samples.mutable_instructions(), samples.mutable_cache_misses()};
    columns.at(column)->RemoveLast();
    EXPECT_FALSE(CheckProfile(profile)) << column;
    columns.at(column)->Clear();
    EXPECT_FALSE(CheckProfile(profile)) << column;
  }
}

}  // namespace
}  // namespace profd::client
