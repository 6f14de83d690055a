// What hardware counters count: per thread between two instants, and shared among samples.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "daemon/aggregate/counts/count_log.h"
#include "daemon/aggregate/counts/count_scaling.h"
#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

constexpr std::uint32_t kCounted =
    3 | PROFD_SESSION_COUNTED | PROFD_SESSION_COUNTERS_MASK << PROFD_SESSION_COUNTERS_SHIFT;

HardwareCounts Of(std::uint64_t n) { return {.counted_ns = n, .counts = {3 * n, 5 * n, n / 10}}; }

wire::PmuEvent Reading(std::uint64_t epoch, std::uint64_t n) {
  wire::PmuEvent event;
  event.epoch = epoch;
  event.at_epoch = event.final = Of(n);
  return event;
}

wire::PmuEvent End(std::uint64_t n) {
  wire::PmuEvent event;
  event.end = true;
  event.final = Of(n);
  return event;
}

TEST(CountLogTest, AThreadsCountsAreWhatWasAddedBetweenTheEpochs) {
  CountLog log;
  log.Add(Reading(4, 1'000), 0);
  log.Add(Reading(7, 5'000), 0);
  const auto counts = log.OfThread(0, false, 4, 7);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->counted_ns, 4'000u);
  EXPECT_EQ(counts->counts[PROFD_PMU_CYCLES], 12'000u);
  EXPECT_EQ(counts->counts[PROFD_PMU_INSTRUCTIONS], 20'000u);
  EXPECT_EQ(counts->counts[PROFD_PMU_CACHE_MISSES], 400u);
}

TEST(CountLogTest, ANewThreadBeginsWithZerosAndAnEndIsItsLastReading) {
  CountLog log;
  log.Add(End(300), 0);
  ASSERT_TRUE(log.OfThread(0, true, 4, 7));
  EXPECT_EQ(log.OfThread(0, true, 4, 7)->counted_ns, 300u);
  EXPECT_FALSE(log.OfThread(0, false, 4, 7)) << "its sums at the start are not known";
  EXPECT_FALSE(log.OfThread(1, true, 4, 7)) << "nothing is known of it";
}

TEST(CountLogTest, AnEndBeyondTheSessionDoesNotCount) {
  CountLog log;
  log.Add(Reading(4, 100), 0);
  log.Add(Reading(7, 200), 0);
  log.Add(End(900), 0);
  ASSERT_TRUE(log.OfThread(0, false, 4, 7));
  EXPECT_EQ(log.OfThread(0, false, 4, 7)->counted_ns, 100u);
}

TEST(ShareCountsTest, SharesAddUpToTheWhole) {
  std::vector<CountedSample> samples{{Of(100), 7}, {Of(200), 7}, {Of(1), 7}};
  const HardwareCounts whole{.counted_ns = 1'000, .counts = {1'001, 7, 13}};
  ShareCounts(whole, samples);
  HardwareCounts sum{};
  for (const CountedSample& sample : samples) AddCounts(sample.counts, sum);
  EXPECT_EQ(sum.counted_ns, 1'000u);
  EXPECT_EQ(sum.counts[PROFD_PMU_CYCLES], 1'001u);
  EXPECT_EQ(sum.counts[PROFD_PMU_INSTRUCTIONS], 7u);
  EXPECT_EQ(sum.counts[PROFD_PMU_CACHE_MISSES], 13u);
  EXPECT_EQ(samples[0].counts.counted_ns, 332u);
  EXPECT_EQ(samples[1].counts.counted_ns, 664u);
}

TEST(ShareCountsTest, WhatWasNotSampledGoesByTimeAndThenByWeight) {
  std::vector<CountedSample> samples{{{.counted_ns = 100, .counts = {5, 0, 0}}, 10},
                                     {{.counted_ns = 300, .counts = {5, 0, 0}}, 10}};
  ShareCounts({.counted_ns = 400, .counts = {10, 8, 0}}, samples);
  EXPECT_EQ(samples[0].counts.counts[PROFD_PMU_CYCLES], 5u);
  EXPECT_EQ(samples[0].counts.counts[PROFD_PMU_INSTRUCTIONS], 2u);
  EXPECT_EQ(samples[1].counts.counts[PROFD_PMU_INSTRUCTIONS], 6u);
  std::vector<CountedSample> not_counted{{{}, 10}, {{}, 30}, {{}, 0}};
  ShareCounts({.counted_ns = 400, .counts = {4, 0, 0}}, not_counted);
  EXPECT_EQ(not_counted[0].counts.counted_ns, 100u);
  EXPECT_EQ(not_counted[1].counts.counts[PROFD_PMU_CYCLES], 3u);
  EXPECT_EQ(not_counted[2].counts.counted_ns, 0u);
}

class CountedProfileTest : public ProfileBuilderTest {
 protected:
  CountedProfileTest() : ProfileBuilderTest(kCounted) {}
};

TEST_F(CountedProfileTest, SamplesHaveTheCountsOfTheirThread) {
  // f1 takes one cycle a ns and misses nothing, f2 four with a miss every 1,000 ns.
  SyntheticThread thread(kMain, kProcess, 1'000 * kMs);
  thread.Run(State::kOnCpu, 9'000 * kMs, 1);
  thread.Run(State::kOnCpu, 2'000 * kMs, 2);
  thread.Run(State::kBlocked, 10'000 * kMs, 3);
  AddReadings(thread);
  const auto counts_of = [](std::uint64_t ns, bool slow) {
    return HardwareCounts{.counted_ns = ns,
                          .counts = {ns * (slow ? 4 : 1), ns, slow ? ns / 1'000 : 0}};
  };
  const auto add = [&](std::uint64_t epoch, std::uint64_t time_ns, std::uint64_t before,
                       std::uint64_t f1, std::uint64_t f2) {
    wire::PmuEvent event;
    event.header = thread.Header(time_ns);
    event.epoch = epoch;
    event.at_epoch = counts_of(before + f1, false);
    AddCounts(counts_of(f2, true), event.at_epoch);
    builder_.AddPmu(event);
  };
  constexpr std::uint64_t kBefore = 777;  // of an earlier session
  add(1, kStartNs, kBefore, 0, 0);
  auto samples = thread.Samples(kPeriodNs, random_);
  for (auto& sample : samples) {
    if (sample.sample.state == State::kOnCpu)
      sample.sample.counts = counts_of(kPeriodNs / 2, sample.frames.at(0) == 2);
    builder_.AddSample(sample);
  }
  add(2, kEndNs, kBefore, 5'000 * kMs, 2'000 * kMs);

  const Profile profile = Build();
  EXPECT_EQ(profile.counters_open.Missing(), "");
  ASSERT_EQ(profile.threads.size(), 1u);
  ASSERT_TRUE(profile.threads[0].counts);
  const HardwareCounts& whole = *profile.threads[0].counts;
  EXPECT_EQ(whole.counted_ns, 7'000 * kMs);
  EXPECT_EQ(whole.counts[PROFD_PMU_CYCLES], 13'000 * kMs);
  HardwareCounts sum{};
  HardwareCounts slow{};
  for (const ProfileSample& sample : profile.samples) {
    if (sample.counts == 0) continue;
    EXPECT_EQ(sample.state, State::kOnCpu);
    const HardwareCounts& counts = profile.sample_counts.at(sample.counts - 1);
    AddCounts(counts, sum);
    if (LeafName(profile, sample) == "f2") AddCounts(counts, slow);
  }
  EXPECT_EQ(sum.counted_ns, whole.counted_ns);
  for (std::size_t i = 0; i < PROFD_PMU_COUNTERS; ++i) EXPECT_EQ(sum.counts[i], whole.counts[i]);
  EXPECT_EQ(slow.counts[PROFD_PMU_CACHE_MISSES], whole.counts[PROFD_PMU_CACHE_MISSES]);
  EXPECT_NEAR(static_cast<double>(slow.counts[PROFD_PMU_CYCLES]) /
                  static_cast<double>(whole.counts[PROFD_PMU_CYCLES]),
              8.0 / 13, 0.05);
}

TEST_F(ProfileBuilderTest, WithoutCountersNothingIsCounted) {
  SyntheticThread thread(kMain, kProcess, 1'000 * kMs);
  thread.Run(State::kOnCpu, 20'000 * kMs, 1);
  AddReadings(thread);
  builder_.AddPmu(Reading(1, 5));
  for (auto& sample : thread.Samples(kPeriodNs, random_)) {
    sample.sample.counts = Of(5);
    builder_.AddSample(sample);
  }
  const Profile profile = Build();
  EXPECT_FALSE(profile.threads[0].counts);
  EXPECT_TRUE(profile.sample_counts.empty());
  EXPECT_FALSE(profile.counters_open.requested);
}

}  // namespace
}  // namespace profd::aggregate
