#include "daemon/aggregate/weights/sampling_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bpf/shared/points.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kSeed = 4711;
constexpr std::uint32_t kLevel = 23;

// Points of a thread's own, of these rows.
std::vector<PointRun> OwnPoints(const std::vector<std::uint32_t>& rows) {
  std::vector<PointRun> runs;
  for (std::uint64_t i = 0; i < rows.size(); ++i) runs.push_back({rows[i], 0, i + 1, i + 1});
  return runs;
}

double FactorOf(const std::vector<std::uint32_t>& rows) {
  SamplingError error(kSeed);
  SamplingError::Sums sums;
  const std::vector<PointRun> runs = OwnPoints(rows);
  (void)error.Add({.from = 0, .to = rows.size() + 1, .salt = 1, .runs = runs}, sums);
  return error.FactorOf(sums);
}

TEST(SamplingError, FindsThePeriodsOfAWait) {
  for (std::uint64_t begin = 100'000'000; begin < 200'000'000; begin += 777'777)
    for (const std::uint64_t ns : {20'000'000u, 90'000'000u}) {
      const auto count =
          static_cast<std::uint32_t>(profd_points_in(kSeed, kLevel, begin, begin + ns));
      ASSERT_NE(count, 0u);
      const PointRun run = FindPoints(kSeed, kLevel, begin, begin + ns, count);
      EXPECT_EQ(run.last - run.first + 1, count);
      EXPECT_GE(profd_point(kSeed, kLevel, run.first), begin);
      EXPECT_LT(profd_point(kSeed, kLevel, run.last), begin + ns);
    }
}

TEST(SamplingError, ACountThatDiffersIsSpreadFromTheBegin) {
  const std::uint64_t begin = std::uint64_t{7} << kLevel;
  const PointRun run = FindPoints(kSeed, kLevel, begin, begin + (4u << kLevel), 9);
  EXPECT_EQ(run.first, 7u);
  EXPECT_EQ(run.last, 15u);
}

TEST(SamplingError, WhatFillsALifeHasNoEdges) {
  SamplingError error(kSeed);
  SamplingError::Sums sums;
  const std::vector<PointRun> runs{{1, kLevel, 10, 29}};
  EXPECT_EQ(error.Add({.from = 10, .to = 29, .salt = 0, .runs = runs}, sums),
            std::vector<std::uint16_t>{0});
  EXPECT_EQ(sums.changes, 0);
}

// One after the other: what the first is too long, the second is too short.
TEST(SamplingError, NeighboursShareAnEdgeWithOppositeSigns) {
  SamplingError error(kSeed);
  SamplingError::Sums sums;
  const std::vector<PointRun> runs{{1, kLevel, 10, 19}, {2, kLevel, 20, 29}};
  const auto edges = error.Add({.from = 10, .to = 29, .salt = 0, .runs = runs}, sums);
  const std::uint16_t end = edges[0] >> kEdgeBits;
  const std::uint16_t begin = edges[1];
  EXPECT_EQ(edges[0] & ((1u << kEdgeBits) - 1), 0u) << "its life begins with it";
  EXPECT_EQ(begin ^ end, kEdgeMinus);
  EXPECT_EQ(begin & kEdgeSet, kEdgeSet);
}

TEST(SamplingError, ThreadsHaveTheSamePairs) {
  SamplingError error(kSeed);
  SamplingError::Sums sums;
  const std::vector<PointRun> runs{{1, kLevel, 12, 13}};
  const auto a = error.Add({.from = 10, .to = 29, .salt = 0, .runs = runs}, sums);
  const auto b = error.Add({.from = 0, .to = 40, .salt = 0, .runs = runs}, sums);
  EXPECT_EQ(a, b);
}

// Half of the squared difference is the variance.
TEST(SamplingError, ShortStaysHaveTheVarianceOfIndependentPoints) {
  EXPECT_DOUBLE_EQ(FactorOf({1, 2, 1, 2, 1, 2, 1, 2}), std::sqrt(1.0 / 2));
}

TEST(SamplingError, AChangeBetweenLongStaysHasAThirdOfIt) {
  EXPECT_DOUBLE_EQ(FactorOf({1, 1, 1, 1, 2, 2, 2, 2}), std::sqrt(1.0 / 6));
}

TEST(SamplingError, APointOfItsOwnMayBeElsewhere) {
  EXPECT_DOUBLE_EQ(FactorOf({1}), std::sqrt(1.0 / 2));
  SamplingError error(kSeed);
  SamplingError::Sums sums;
  const std::vector<PointRun> runs = OwnPoints({1});
  const std::uint16_t edges = error.Add({.from = 0, .to = 2, .salt = 1, .runs = runs}, sums)[0];
  EXPECT_NE(edges & kEdgeSet, 0);
  EXPECT_NE((edges >> kEdgeBits) & kEdgeSet, 0);
}

TEST(SamplingError, RunsThatContradictEachOtherAreHarmless) {
  SamplingError error(kSeed);
  SamplingError::Sums sums;
  const std::vector<PointRun> runs{{1, kLevel, 5, 14}, {2, kLevel, 12, 40}, {3, kLevel, 12, 13}};
  EXPECT_EQ(error.Add({.from = 10, .to = 29, .salt = 0, .runs = runs}, sums).size(), 3u);
  const double factor = error.FactorOf(sums);
  EXPECT_GE(factor, std::sqrt(1.0 / 6));
  EXPECT_LE(factor, std::sqrt(1.0 / 2 * 20 / 19));
}

}  // namespace
}  // namespace profd::aggregate
