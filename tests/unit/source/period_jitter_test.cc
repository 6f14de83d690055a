#include "daemon/source/perf/period_jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace profd::source {
namespace {

// Samples as the kernel takes them: a drawn period holds until the next draw, which restarts it.
template <typename OnSample>
void Simulate(std::uint64_t nominal_ns, double duration_ns, OnSample on_sample) {
  PeriodJitter jitter(42);
  double now_ns = 0;
  while (now_ns < duration_ns) {
    const auto interval = static_cast<double>(jitter.DrawInterval(nominal_ns).count());
    const auto period = static_cast<double>(jitter.DrawPeriodNs(nominal_ns));
    for (double at = now_ns + period; at <= now_ns + interval; at += period) on_sample(at, period);
    now_ns += interval;
  }
}

TEST(PeriodJitter, TheMeanRateIsTheRequestedOne) {
  for (const std::uint64_t nominal_ns :
       {100'000ull, 1'000'000ull, 10'101'010ull, 50'000'000ull, 1'000'000'000ull}) {
    // 20,000 intervals: five standard deviations of their mean rate (0.31 each) are 1.1 %.
    const double duration_ns =
        20'000.0 * static_cast<double>(PeriodJitter::MeanInterval(nominal_ns).count());
    double count = 0;
    Simulate(nominal_ns, duration_ns, [&](double, double) { ++count; });
    EXPECT_NEAR(count * static_cast<double>(nominal_ns) / duration_ns, 1.0, 0.011) << nominal_ns;
  }
}

TEST(PeriodJitter, AProgramOfTheSamePeriodIsSeenInItsTrueShares) {
  // The first 30 % of a loop of exactly the sampling period are another function. With a fixed
  // period the answer would be 0 or 1.
  constexpr std::uint64_t kPeriodNs = 10'101'010;
  double inside = 0;
  double all = 0;
  Simulate(kPeriodNs, 50'000.0 * kPeriodNs, [&](double at, double weight) {
    const double phase = std::fmod(at, static_cast<double>(kPeriodNs)) / kPeriodNs;
    all += weight;
    if (phase < 0.3) inside += weight;
  });
  EXPECT_NEAR(inside / all, 0.3, 0.015);
}

TEST(PeriodJitter, PeriodsStayWithinHalfOfTheirMean) {
  PeriodJitter jitter(1);
  const auto mean = static_cast<double>(PeriodJitter::MeanInterval(10'000'000).count());
  const double center = 10e6 * std::log(3.0) / (1.0 + 10e6 / (2 * mean));
  for (int i = 0; i < 10'000; ++i) {
    const auto period = static_cast<double>(jitter.DrawPeriodNs(10'000'000));
    ASSERT_GE(period, 0.5 * center - 1);
    ASSERT_LE(period, 1.5 * center + 1);
  }
}

TEST(PeriodJitter, SlowRatesHaveLongIntervals) {
  EXPECT_EQ(PeriodJitter::MeanInterval(1'000'000), std::chrono::milliseconds(50));
  EXPECT_EQ(PeriodJitter::MeanInterval(1'000'000'000), std::chrono::seconds(5));
}

}  // namespace
}  // namespace profd::source
