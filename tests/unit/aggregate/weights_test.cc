#include "daemon/aggregate/weights/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "bpf/shared/points.h"
#include "daemon/base/mul_div.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kTrials = 200'000;

SubsampleKey KeyOf(std::uint64_t i, std::uint32_t salt = 0) {
  return SubsampleKey{1'000'000'000 + i * 10'101'010, 4242, 3, salt};
}

TEST(SubsamplePoints, KeepsAllOfAPeriodThatIsNotCoarser) {
  const auto same = SubsamplePoints({3, 100}, 100, KeyOf(0));
  EXPECT_EQ(same.count, 3u);
  EXPECT_EQ(same.period_ns, 100u);
  const auto finer = SubsamplePoints({3, 100}, 10, KeyOf(0));
  EXPECT_EQ(finer.count, 3u);
  EXPECT_EQ(finer.period_ns, 100u);
}

TEST(SubsamplePoints, KeepsTheWholePartAlways) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto points = SubsamplePoints({25, 100}, 1000, KeyOf(i));
    EXPECT_EQ(points.period_ns, 1000u);
    EXPECT_TRUE(points.count == 2 || points.count == 3) << points.count;
  }
}

TEST(SubsamplePoints, KeepsTheExpectedWeight) {
  // 7 sampling points of 100 at a period of 300: 2 1/3. The sum of a fraction f has sd sqrt(n f (1
  // - f)).
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < kTrials; ++i)
    kept += SubsamplePoints({7, 100}, 300, KeyOf(i)).count;
  const double expected = static_cast<double>(kTrials) * 7 / 3;
  const double sd = std::sqrt(static_cast<double>(kTrials) * (1.0 / 3) * (2.0 / 3));
  EXPECT_NEAR(static_cast<double>(kept), expected, 5 * sd);
}

TEST(SubsamplePoints, DecidesTheSameForTheSameKeyOnly) {
  int different = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(SubsamplePoints({1, 100}, 200, KeyOf(i)).count,
              SubsamplePoints({1, 100}, 200, KeyOf(i)).count);
    different += SubsamplePoints({1, 100}, 200, KeyOf(i, 1)).count !=
                 SubsamplePoints({1, 100}, 200, KeyOf(i, 2)).count;
  }
  EXPECT_GT(different, 400);
  EXPECT_LT(different, 600);
}

TEST(SubsamplePoints, SurvivesAbsurdNumbers) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(SubsamplePoints({0, kMax}, kMax, KeyOf(0)).count, 0u);
  EXPECT_LE(SubsamplePoints({1, 0}, kMax, KeyOf(0)).count, 1u);
  EXPECT_EQ(SubsamplePoints({~0u, kMax}, kMax, KeyOf(0)).count, ~0u);
}

constexpr std::uint64_t kSeed = 77;
constexpr std::uint64_t kFineNs = 1u << 20;

TEST(SelectPoints, KeepsAllOfAPeriodThatIsNotCoarser) {
  for (const std::uint64_t session_ns : {std::uint64_t{1}, kFineNs / 4, kFineNs}) {
    const Points points = SelectPoints({3, kFineNs}, session_ns, 0, kFineNs * 3, {kSeed, 0});
    EXPECT_EQ(points.count, 3u);
    EXPECT_EQ(points.period_ns, kFineNs);
  }
}

TEST(SelectPoints, SeesThoseOfTheSessionsOwnLevel) {
  std::mt19937_64 random(1);
  std::uint64_t waited_ns = 0;
  std::uint64_t weight_ns = 0;
  constexpr int kWaits = 100'000;
  for (int i = 0; i < kWaits; ++i) {
    const std::uint64_t begin = random() >> 8;
    const std::uint64_t end = begin + random() % (3 * kFineNs);
    const Points taken{static_cast<std::uint32_t>(profd_points_in(kSeed, 20, begin, end)), kFineNs};
    const Points points = SelectPoints(taken, 8 * kFineNs, begin, end, {kSeed, 0});
    ASSERT_EQ(points.count, profd_points_in(kSeed, 23, begin, end));
    waited_ns += end - begin;
    if (points.count != 0) {
      ASSERT_EQ(points.period_ns, 8 * kFineNs);
      weight_ns += points.count * points.period_ns;
    }
  }
  // A wait has 3/16 of a point on average, and two at most: variance below 0.3 each.
  EXPECT_NEAR(static_cast<double>(weight_ns), static_cast<double>(waited_ns),
              5 * std::sqrt(0.3 * kWaits) * 8 * kFineNs);
}

TEST(SelectPoints, ASampleThatStandsForOthersStandsForThemAtTheCoarserLevel) {
  const std::uint64_t point = profd_point(kSeed, 23, 1'000);
  const Points taken{1, kFineNs << 4};
  const Points same = SelectPoints(taken, kFineNs, point, point + 1, {kSeed, 4});
  EXPECT_EQ(same.period_ns, kFineNs << 4);
  const Points coarse = SelectPoints(taken, 8 * kFineNs, point, point + 1, {kSeed, 4});
  EXPECT_EQ(coarse.count, 1u);
  EXPECT_EQ(coarse.period_ns, 8 * kFineNs << 4);
  EXPECT_EQ(SelectPoints(taken, 8 * kFineNs, point + 1, point + 2, {kSeed, 4}).count, 0u);
}

TEST(SelectPoints, SurvivesAbsurdNumbers) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(SelectPoints({0, kMost}, kMost, 0, kMost, {kSeed, 31}).count, 0u);
  EXPECT_EQ(SelectPoints({~0u, 0}, kMost, 0, kMost, {kSeed, 31}).count,
            profd_points_before(kSeed, 42, kMost));
  EXPECT_EQ(SelectPoints({5, 0}, 0, 0, kMost, {kSeed, 31}).count, 5u);
  EXPECT_EQ(SelectPoints({5, 1}, 1, kMost, 0, {kSeed, 0}).count, 0u);
}

TEST(SubsampleOnCpu, KeepsAllOfAPeriodThatIsNotCoarser) {
  EXPECT_EQ(SubsampleOnCpu(77, 100, 100, KeyOf(0)), 77u);
  EXPECT_EQ(SubsampleOnCpu(77, 100, 50, KeyOf(0)), 77u);
  EXPECT_EQ(SubsampleOnCpu(77, 0, 50, KeyOf(0)), 77u);
}

TEST(SubsampleOnCpu, KeepsTheExpectedWeight) {
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < kTrials; ++i) {
    const auto weight = SubsampleOnCpu(80, 100, 400, KeyOf(i));
    EXPECT_TRUE(weight == 0 || weight == 320);
    kept += weight != 0 ? 1 : 0;
  }
  const auto n = static_cast<double>(kTrials);
  EXPECT_NEAR(static_cast<double>(kept), n / 4, 5 * std::sqrt(n * 0.25 * 0.75));
}

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Intersect, KeepsTheCommonPart) {
  EXPECT_EQ(Intersect({10, 20}, {15, 30}), (Window{15, 20}));
  EXPECT_EQ(Intersect({10, 20}, {0, 12}), (Window{10, 12}));
  EXPECT_EQ(Intersect({10, 20}, {12, 18}), (Window{12, 18}));
  EXPECT_EQ(Intersect({10, 20}, {0, 100}), (Window{10, 20}));
}

TEST(Intersect, IsEmptyWhereThereIsNone) {
  EXPECT_EQ(Intersect({10, 20}, {20, 30}).Length(), 0u);
  EXPECT_EQ(Intersect({10, 20}, {0, 10}).Length(), 0u);
  EXPECT_EQ(Intersect({20, 10}, {0, 100}).Length(), 0u);
}

TEST(MulDiv, DoesNotOverflow) {
  EXPECT_EQ(MulDiv(kMax, kMax, kMax), kMax);
  EXPECT_EQ(MulDiv(10, 7, 3), 23u);
}

TEST(ClipWeight, IsInProportionToTheLengthInside) {
  // 3 sampling points of 10 in an interval of 40, a quarter of which is inside.
  EXPECT_EQ(ClipWeight(30, {100, 140}, {130, 1000}), 7u);
  EXPECT_EQ(ClipWeight(30, {100, 140}, {0, 110}), 7u);
  EXPECT_EQ(ClipWeight(30, {100, 140}, {110, 130}), 15u);
}

TEST(ClipWeight, IsAllInsideAndNothingOutside) {
  EXPECT_EQ(ClipWeight(30, {100, 140}, {100, 140}), 30u);
  EXPECT_EQ(ClipWeight(30, {100, 140}, {140, 200}), 0u);
  EXPECT_EQ(ClipWeight(30, {140, 140}, {0, 200}), 0u);
}

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
