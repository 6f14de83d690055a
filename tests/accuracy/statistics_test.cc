#include "tests/accuracy/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace profd::accuracy {
namespace {

// Exact probability that a binomial share lies further than `bound` from p.
double TailBeyond(int n, double p, double bound) {
  double inside = 0;
  for (int hits = 0; hits <= n; ++hits) {
    if (std::abs(static_cast<double>(hits) / n - p) >= bound) continue;
    inside +=
        std::exp(std::lgamma(n + 1.0) - std::lgamma(hits + 1.0) - std::lgamma(n - hits + 1.0) +
                 hits * std::log(p) + (n - hits) * std::log1p(-p));
  }
  return 1 - inside;
}

TEST(ShareBound, HoldsForEveryBinomial) {
  for (const int n : {10, 50, 200, 1000, 3000}) {
    for (const double p : {0.001, 0.02, 0.1, 0.3, 0.5, 0.7, 0.95}) {
      for (const double chance : {0.01, 1e-4}) {
        EXPECT_LE(TailBeyond(n, p, ShareBound(p, n, chance)), chance * (1 + 1e-6))
            << n << " samples, share " << p << ", chance " << chance;
      }
    }
  }
}

TEST(Weights, ThreadsThatShareTheirPointsCountLess) {
  Weights weights;
  for (int i = 0; i < 100; ++i) weights.Add(7, 1);
  EXPECT_DOUBLE_EQ(weights.EffectiveSamples(), 100);
  weights.ShareTheirPoints(4);
  EXPECT_DOUBLE_EQ(weights.EffectiveSamples(), 25);
}

TEST(ShareBound, IsNotLooseWhereSamplesAreMany) {
  // Two-sided normal quantile of kChance = 5e-6 is 4.56 sigma.
  const double sigma = std::sqrt(0.3 * 0.7 / 2000);
  EXPECT_GT(ShareBound(0.3, 2000), 4.56 * sigma);
  EXPECT_LT(ShareBound(0.3, 2000), 5.5 * sigma);
}

TEST(ShareBound, SeesASamplerInLockstep) {
  // 10 s at 99 Hz that hit always the same function of two, 30 : 70.
  EXPECT_LT(ShareBound(0.3, 990), 0.1);
}

TEST(ShareBound, SaysNothingWithoutSamples) {
  EXPECT_EQ(ShareBound(0.3, 0), 1);
  EXPECT_EQ(ShareBound(0.0, 1), 1);
}

TEST(Weights, EqualSamplesCountFully) {
  Weights weights;
  for (int i = 0; i < 100; ++i) weights.Add(10'000'000, 1);
  EXPECT_DOUBLE_EQ(weights.EffectiveSamples(), 100);
}

TEST(Weights, AnIntervalWithManyMarksCountsAsMany) {
  Weights weights;
  weights.Add(50'000'000, 5);
  weights.Add(10'000'000, 1);
  EXPECT_DOUBLE_EQ(weights.EffectiveSamples(), 6);
}

TEST(Weights, UnequalSamplesCountLess) {
  Weights weights;
  weights.Add(1'000'000'000, 1);
  for (int i = 0; i < 10; ++i) weights.Add(1, 1);
  EXPECT_NEAR(weights.EffectiveSamples(), 1, 1e-6);
}

TEST(Weights, TimeWithoutASampleIsNoSample) {
  Weights weights;
  weights.Add(1'000'000'000, 0);
  EXPECT_EQ(weights.EffectiveSamples(), 0);
}

}  // namespace
}  // namespace profd::accuracy
