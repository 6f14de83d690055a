#include "daemon/aggregate/subsampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
  // 7 marks of 100 at a period of 300: 2 1/3. The sum of a fraction f has sd sqrt(n f (1 - f)).
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

}  // namespace
}  // namespace profd::aggregate
