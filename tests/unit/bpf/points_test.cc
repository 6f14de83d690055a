// Sampling points: one in each period, anywhere in it, and those of coarse levels among those of
// finer ones.
#include "bpf/shared/points.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>

namespace profd {
namespace {

constexpr std::uint64_t kSeed = 0x1234'5678'9abc'def1;
constexpr std::uint64_t kMax = ~std::uint64_t{0};
// A true result lies further away in fewer than one of a million runs of a test.
constexpr double kSigmas = 5.0;

std::uint64_t PeriodOf(std::uint32_t level) { return std::uint64_t{1} << level; }

TEST(Points, EachPeriodHasOneAndItLiesInIt) {
  std::mt19937_64 random(1);
  for (std::uint32_t level = PROFD_FINEST_LEVEL; level <= PROFD_COARSEST_LEVEL; ++level) {
    for (int i = 0; i < 1'000; ++i) {
      const std::uint64_t period = random() >> level;
      const std::uint64_t point = profd_point(kSeed, level, period);
      ASSERT_EQ(point >> level, period) << level;
      const std::uint64_t begin = period << level;
      ASSERT_EQ(profd_points_in(kSeed, level, begin, point), 0u);
      ASSERT_EQ(profd_points_in(kSeed, level, begin, point + 1), 1u);
    }
  }
}

TEST(Points, ACoarsePointIsOneOfEachFinerLevel) {
  std::mt19937_64 random(2);
  for (std::uint32_t level = PROFD_FINEST_LEVEL + 1; level <= PROFD_COARSEST_LEVEL; ++level) {
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t point = profd_point(kSeed, level, random() >> level);
      for (std::uint32_t finer = PROFD_FINEST_LEVEL; finer < level; ++finer)
        ASSERT_EQ(profd_point(kSeed, finer, point >> finer), point) << level << " " << finer;
    }
  }
}

TEST(Points, AnyNsOfAPeriodIsAsLikely) {
  constexpr int kBins = 64;
  constexpr int kPeriods = 64'000;
  for (const std::uint32_t level : {10u, 11u, 16u, 20u, 23u, 26u, 36u, 42u}) {
    std::array<int, kBins> bins{};
    std::array<int, kBins> fine{};  // the last bits
    for (std::uint64_t period = 0; period < kPeriods; ++period) {
      const std::uint64_t offset = profd_point(kSeed, level, period) & (PeriodOf(level) - 1);
      ++bins[offset >> (level - 6)];
      ++fine[offset % kBins];
    }
    for (const auto& counts : {bins, fine}) {
      double chi_square = 0;
      for (const int count : counts)
        chi_square += std::pow(count - kPeriods / kBins, 2) / (kPeriods / kBins);
      // Mean kBins - 1, variance twice that.
      EXPECT_NEAR(chi_square, kBins - 1, kSigmas * std::sqrt(2.0 * (kBins - 1))) << level;
    }
  }
}

// Where a point lies says nothing of those in the next periods, nor of that of another seed.
TEST(Points, PeriodsAndSeedsAreIndependent) {
  constexpr int kPeriods = 100'000;
  const auto centred = [](std::uint64_t seed, std::uint32_t level, std::uint64_t period) {
    const std::uint64_t offset = profd_point(seed, level, period) & (PeriodOf(level) - 1);
    return static_cast<double>(offset) / static_cast<double>(PeriodOf(level)) - 0.5;
  };
  for (const std::uint32_t level : {10u, 20u, 23u, 26u}) {
    std::array<double, 9> sums{};
    for (std::uint64_t period = 0; period < kPeriods; ++period) {
      const double here = centred(kSeed, level, period);
      for (std::size_t later = 1; later < sums.size(); ++later)
        sums[later] += here * centred(kSeed, level, period + later);
      sums[0] += here * centred(kSeed + 1, level, period);
    }
    // Products of two uniform numbers around 0 have mean 0 and variance 1 / 144.
    for (const double sum : sums) EXPECT_NEAR(sum, 0, kSigmas * std::sqrt(kPeriods / 144.0));
  }
}

TEST(Points, CountIsThatOfAllOneByOne) {
  std::mt19937_64 random(3);
  for (const std::uint32_t level : {10u, 13u, 20u, 30u}) {
    for (int i = 0; i < 2'000; ++i) {
      const std::uint64_t begin = random() >> 2;
      const std::uint64_t end = begin + random() % (20 * PeriodOf(level));
      std::uint64_t count = 0;
      for (std::uint64_t period = begin >> level; period <= end >> level; ++period) {
        const std::uint64_t point = profd_point(kSeed, level, period);
        count += point >= begin && point < end ? 1 : 0;
      }
      ASSERT_EQ(profd_points_in(kSeed, level, begin, end), count);
      const std::uint64_t middle = begin + (end - begin) / 3;
      ASSERT_EQ(
          profd_points_in(kSeed, level, begin, middle) + profd_points_in(kSeed, level, middle, end),
          count);
      ASSERT_EQ(profd_points_in(kSeed, level, end + 1, begin), 0u) << "ends before it begins";
    }
  }
}

TEST(Points, TheFirstAndTheLastInstantsDoNotOverflow) {
  for (std::uint32_t level = PROFD_FINEST_LEVEL; level <= PROFD_COARSEST_LEVEL; ++level) {
    EXPECT_EQ(profd_points_before(kSeed, level, 0), 0u);
    EXPECT_EQ(profd_points_in(kSeed, level, 0, PeriodOf(level)), 1u);
    const std::uint64_t last = profd_points_before(kSeed, level, kMax);
    // That of the last period may be the one ns that no interval contains.
    const std::uint64_t periods = std::uint64_t{1} << (64 - level);
    EXPECT_TRUE(last == periods || last == periods - 1) << level;
    EXPECT_LE(profd_points_in(kSeed, level, kMax - PeriodOf(level) + 1, kMax), 1u);
    EXPECT_EQ(profd_points_in(kSeed, level, 0, kMax), last);
  }
}

TEST(Points, LevelsAreTheNearestOrTheNextLonger) {
  EXPECT_EQ(profd_nearest_level(0), 10u);
  EXPECT_EQ(profd_nearest_level(1'000), 10u);
  EXPECT_EQ(profd_nearest_level(1'448), 10u);
  EXPECT_EQ(profd_nearest_level(1'449), 11u);
  EXPECT_EQ(profd_nearest_level(10'101'010), 23u);  // 8.4 ms, rather than 16.8
  EXPECT_EQ(profd_nearest_level(52'631'578), 26u);  // 67.1 ms, rather than 33.6
  EXPECT_EQ(profd_nearest_level(3'600'000'000'000), 42u);
  EXPECT_EQ(profd_nearest_level(kMax), 42u);
  EXPECT_EQ(profd_level_not_below(0), 10u);
  EXPECT_EQ(profd_level_not_below(1'024), 10u);
  EXPECT_EQ(profd_level_not_below(1'025), 11u);
  EXPECT_EQ(profd_level_not_below(kMax), 42u);
  for (std::uint32_t level = PROFD_FINEST_LEVEL; level <= PROFD_COARSEST_LEVEL; ++level) {
    EXPECT_EQ(profd_nearest_level(PeriodOf(level)), level);
    EXPECT_EQ(profd_level_not_below(PeriodOf(level)), level);
  }
}

}  // namespace
}  // namespace profd
