#include "client/profile/threads/concurrency.h"

#include <gtest/gtest.h>

#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

v1::Concurrency UpTo(std::uint32_t most) {
  v1::Concurrency concurrency;
  for (std::uint32_t threads = 0; threads <= most; ++threads) {
    v1::Concurrency::Level& level = *concurrency.add_levels();
    level.set_threads(threads);
    level.set_running(threads + 1);
    level.set_wanting(most + 1 - threads);
  }
  return concurrency;
}

TEST(ConcurrencyRows, FewNumbersHaveARowEach) {
  const auto rows = ConcurrencyRows(UpTo(3), 12);
  ASSERT_EQ(rows.size(), 4u);
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].first, i);
    EXPECT_EQ(rows[i].last, i);
    EXPECT_EQ(rows[i].running, i + 1);
    EXPECT_EQ(rows[i].wanting, 4 - i);
  }
  EXPECT_TRUE(ConcurrencyRows({}, 12).empty());
}

TEST(ConcurrencyRows, ManyNumbersShareRowsAndNothingIsLost) {
  for (const std::uint32_t most : {11u, 12u, 13u, 56u, 1000u}) {
    const v1::Concurrency concurrency = UpTo(most);
    const auto rows = ConcurrencyRows(concurrency, 12);
    EXPECT_LE(rows.size(), 12u);
    EXPECT_EQ(rows[0].last, 0u);
    EXPECT_EQ(rows.back().last, most);
    std::uint64_t running = 0;
    std::uint64_t wanting = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i != 0) {
        EXPECT_EQ(rows[i].first, rows[i - 1].last + 1);
      }
      running += rows[i].running;
      wanting += rows[i].wanting;
    }
    EXPECT_EQ(running, PointsOf(concurrency));
    EXPECT_EQ(wanting, PointsOf(concurrency));
  }
}

TEST(ConcurrencyRows, TheLargestNumberFits) {
  v1::Concurrency concurrency;
  concurrency.add_levels()->set_threads(~0u);
  concurrency.mutable_levels(0)->set_running(1);
  const auto rows = ConcurrencyRows(concurrency, 12);
  EXPECT_EQ(rows.back().last, ~0u);
  EXPECT_EQ(rows.back().running, 1u);
}

TEST(Concurrency, PointsBeyondACountOfCpus) {
  const v1::Concurrency concurrency = testing::PoolProfile().processes(0).concurrency();
  EXPECT_EQ(PointsOf(concurrency), 1'000u);
  EXPECT_EQ(PointsBeyond(concurrency, 2), 400u);
  EXPECT_EQ(PointsBeyond(concurrency, 1.5), 450u);
  EXPECT_EQ(PointsBeyond(concurrency, 4), 0u);
  EXPECT_EQ(MostWanting(concurrency), 4u);
}

TEST(Concurrency, TheIntervalIsThatOfIndependentDraws) {
  // Wilson's interval of 400 of 1,000, by its formula.
  const Interval interval = PointInterval(400, 1'000);
  EXPECT_NEAR(interval.low, 0.3701, 0.0001);
  EXPECT_NEAR(interval.high, 0.4307, 0.0001);
  // None of ten does not say never: z^2 / (n + z^2).
  EXPECT_NEAR(PointInterval(0, 10).high, 0.2775, 0.0001);
  EXPECT_EQ(PointInterval(0, 10).low, 0);
  EXPECT_EQ(PointInterval(0, 0).high, 1);
}

TEST(Concurrency, WhereItIsMissingTheReasonIsSaid) {
  v1::Profile profile = testing::SmallProfile();
  EXPECT_EQ(NoConcurrencyText(profile), "it is counted together with who ends waits");
  profile.set_wakers(true);
  EXPECT_EQ(NoConcurrencyText(profile), "the history does not keep it");
  profile.set_hook("none (forced)");
  EXPECT_EQ(NoConcurrencyText(profile),
            "in snapshot mode threads are not sampled at the same instants");
}

}  // namespace
}  // namespace profd::client
