#include "daemon/aggregate/scaling.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace profd::aggregate {
namespace {

using Samples = std::vector<WeightedSample>;

std::uint64_t Sum(const Samples& samples) {
  return std::accumulate(samples.begin(), samples.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& s) { return sum + s.weight_ns; });
}

TEST(ScaleToClock, SharesInProportion) {
  Samples samples{{10, false}, {30, false}, {60, false}};
  EXPECT_EQ(ScaleToClock(samples, 1000), 0u);
  EXPECT_EQ(samples[0].weight_ns, 100u);
  EXPECT_EQ(samples[1].weight_ns, 300u);
  EXPECT_EQ(samples[2].weight_ns, 600u);
}

TEST(ScaleToClock, GivesTheLastNsToTheLargestRemainders) {
  // 11 ns over weights 1:2:4 = 1.571, 3.143, 6.286: two ns are left, for .571 and .286.
  Samples samples{{1, false}, {2, false}, {4, false}};
  EXPECT_EQ(ScaleToClock(samples, 11), 0u);
  EXPECT_EQ(samples[0].weight_ns, 2u);
  EXPECT_EQ(samples[1].weight_ns, 3u);
  EXPECT_EQ(samples[2].weight_ns, 6u);
}

TEST(ScaleToClock, BreaksTiesByOrder) {
  Samples samples{{5, false}, {5, false}, {5, false}};
  EXPECT_EQ(ScaleToClock(samples, 8), 0u);
  EXPECT_EQ(samples[0].weight_ns, 3u);
  EXPECT_EQ(samples[1].weight_ns, 3u);
  EXPECT_EQ(samples[2].weight_ns, 2u);
}

TEST(ScaleToClock, LeavesExactOnesAlone) {
  Samples samples{{700, true}, {10, false}, {10, false}};
  EXPECT_EQ(ScaleToClock(samples, 1000), 0u);
  EXPECT_EQ(samples[0].weight_ns, 700u);
  EXPECT_EQ(samples[1].weight_ns, 150u);
  EXPECT_EQ(samples[2].weight_ns, 150u);
}

TEST(ScaleToClock, ScalesExactOnesThatExceedTheClock) {
  Samples samples{{600, true}, {10, false}, {200, true}};
  EXPECT_EQ(ScaleToClock(samples, 400), 0u);
  EXPECT_EQ(samples[0].weight_ns, 300u);
  EXPECT_EQ(samples[1].weight_ns, 0u);
  EXPECT_EQ(samples[2].weight_ns, 100u);
}

TEST(ScaleToClock, ReturnsTimeWithoutSamples) {
  Samples none;
  EXPECT_EQ(ScaleToClock(none, 1000), 1000u);
  Samples exact{{300, true}};
  EXPECT_EQ(ScaleToClock(exact, 1000), 700u);
  EXPECT_EQ(exact[0].weight_ns, 300u);
  Samples weightless{{0, false}};
  EXPECT_EQ(ScaleToClock(weightless, 1000), 1000u);
}

TEST(ScaleToClock, AlwaysAddsUp) {
  std::mt19937_64 random(20240607);
  for (int round = 0; round < 2000; ++round) {
    Samples samples(random() % 40);
    for (auto& sample : samples)
      sample = {random() % (1ull << (random() % 54)), random() % 4 == 0, 0};
    const std::uint64_t clock = random() % (1ull << (random() % 60 + 1));
    const auto left = ScaleToClock(samples, clock);
    EXPECT_EQ(Sum(samples) + left, clock);
  }
}

TEST(ScaleToClock, IsWithinOneNsOfTheShare) {
  std::mt19937_64 random(99);
  Samples samples(1000);
  std::uint64_t sum = 0;
  for (auto& sample : samples) sum += sample.raw_weight_ns = 1 + random() % 20'000'000;
  constexpr std::uint64_t kClock = 9'876'543'210;
  EXPECT_EQ(ScaleToClock(samples, kClock), 0u);
  for (const auto& sample : samples)
    EXPECT_NEAR(static_cast<double>(sample.weight_ns),
                static_cast<double>(sample.raw_weight_ns) * kClock / static_cast<double>(sum), 1.0);
}

}  // namespace
}  // namespace profd::aggregate
