// What the programs take as a sample: every ns of off-CPU time is as likely as any other, and what
// a CPU keeps of the last points changes nothing.
//
// With P the period, each period has one point, and an interval takes those that lie in it. Which
// of two intervals in a period has the point is a draw, independent of those of other periods. So
// the number of points in a set of intervals has variance q (1 - q) a period, with q the set's
// share of it: 1/4 at most.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "bpf/shared/points.h"
#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kSeed = 20'251'121;
constexpr std::uint32_t kLevel = 23;
constexpr std::uint64_t kPeriodNs = std::uint64_t{1} << kLevel;
constexpr std::uint64_t kRequested = 1;
constexpr std::uint64_t kBackground = 2;
// Below it a true result fails in fewer than one of a million runs of a test.
constexpr double kSigmas = 5.0;

class SamplingPointsTest : public testing::Test {
 protected:
  SamplingPointsTest() {
    user_reset();
    user_constants()->point_seed = kSeed;
    user_control()->requested_sessions = kRequested;
    user_control()->off_cpu_level = kLevel;
    user_set_random([](void* self) { return static_cast<SamplingPointsTest*>(self)->Draw(); },
                    this);
    cpu_ = user_cpu_new();
  }
  ~SamplingPointsTest() override { user_cpu_free(cpu_); }

  std::uint32_t Draw() { return static_cast<std::uint32_t>(random_()); }
  std::uint64_t Below(std::uint64_t range) { return random_() % range; }

  user_points Find(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t runnable_ns = 0,
                   std::uint64_t sessions = kRequested) {
    return user_count_points(cpu_, sessions, begin_ns, end_ns, runnable_ns);
  }
  // Off the CPU for `length`, then on it for `on_cpu`.
  std::uint32_t Pass(std::uint64_t length, std::uint64_t on_cpu = 0) {
    const user_points points = Find(now_, now_ + length);
    now_ += length + on_cpu;
    return points.blocked;
  }

  std::mt19937_64 random_{20251121};
  std::uint64_t now_ = std::uint64_t{123} << 40;
  user_cpu* cpu_ = nullptr;
};

TEST_F(SamplingPointsTest, AreThoseThatUserSpaceCounts) {
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t length = Below(i % 2 == 0 ? 100'000 : 5 * kPeriodNs);
    const std::uint64_t runnable = i % 3 == 0 ? 0 : Below(length + 1);
    const user_points points = Find(now_, now_ + length, runnable);
    const std::uint64_t woken = now_ + length - runnable;
    ASSERT_EQ(points.blocked, profd_points_in(kSeed, kLevel, now_, woken));
    ASSERT_EQ(points.runnable, profd_points_in(kSeed, kLevel, woken, now_ + length));
    if (points.blocked != 0 || points.runnable != 0) {
      ASSERT_EQ(points.level, kLevel);
    }
    // The next thread on this CPU has begun to wait at any time, and its end may seem a little
    // older.
    now_ += length + Below(1'000'000);
    now_ -= Below(i % 5 == 0 ? 2 * kPeriodNs : 3);
  }
}

TEST_F(SamplingPointsTest, IntervalsThatTouchAPoint) {
  for (std::uint64_t period = 1'000; period < 2'000; ++period) {
    const std::uint64_t point = profd_point(kSeed, kLevel, period);
    EXPECT_EQ(Find(point - 10, point).blocked, 0u) << "ends before it";
    EXPECT_EQ(Find(point - 10, point + 1).blocked, 1u);
    EXPECT_EQ(Find(point, point + 1).blocked, 1u);
    EXPECT_EQ(Find(point + 1, point + 10).blocked, 0u);
    EXPECT_EQ(Find(point, point).blocked, 0u) << "has no length";
    EXPECT_EQ(Find(point + 5, point - 5).blocked, 0u) << "ends before it begins";
    EXPECT_EQ(Find(point - 10, point + 10, 10).runnable, 1u) << "woken at it";
    EXPECT_EQ(Find(point - 10, point + 10, 9).blocked, 1u) << "woken after it";
    EXPECT_EQ(Find(point - 10, point + 10, kPeriodNs).runnable, 1u) << "runnable all the time";
  }
}

// Two threads that wait across one instant are both sampled, on whatever CPU; a third is not.
TEST_F(SamplingPointsTest, AllThreadsOfAllCpusHaveTheSame) {
  user_cpu* other = user_cpu_new();
  for (std::uint64_t period = 1'000; period < 2'000; ++period) {
    const std::uint64_t point = profd_point(kSeed, kLevel, period);
    EXPECT_EQ(Find(point - Below(1'000), point + 1 + Below(kPeriodNs / 2)).blocked > 0, true);
    EXPECT_EQ(user_count_points(other, kRequested, point - Below(1'000), point + 1, 0).blocked, 1u);
    EXPECT_EQ(Find(point + 1, point + 2).blocked, 0u);
  }
  user_cpu_free(other);
}

TEST_F(SamplingPointsTest, OnePerPeriodHoweverTheTimeIsCut) {
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t begin = now_;
    std::uint64_t points = 0;
    while (now_ - begin < 100 * kPeriodNs) {
      points += Pass(Below(round % 2 == 0 ? 100'000 : 5 * kPeriodNs));
      const double expected = static_cast<double>(now_ - begin) / kPeriodNs;
      ASSERT_LE(std::abs(static_cast<double>(points) - expected), 2.0);
    }
  }
}

TEST_F(SamplingPointsTest, FirstIntervalOfAThreadIsNotPreferred) {
  constexpr int kThreads = 200'000;
  std::uint64_t points = 0;
  for (int i = 0; i < kThreads; ++i) {
    now_ += Below(100 * kPeriodNs);
    points += Pass(kPeriodNs / 4);
  }
  EXPECT_NEAR(static_cast<double>(points), kThreads * 0.25,
              kSigmas * std::sqrt(kThreads * 0.25 * 0.75));
}

// Waits of 3/10 and 7/10 of a period in turn. True share of the first: 0.3.
TEST_F(SamplingPointsTest, RhythmOfThePeriodDoesNotMatter) {
  for (int run = 0; run < 20; ++run) {
    constexpr int kTurns = 10'000;
    std::uint64_t three = 0;
    std::uint64_t seven = 0;
    now_ += Below(kPeriodNs);
    for (int turn = 0; turn < kTurns; ++turn) {
      three += Pass(kPeriodNs * 3 / 10);
      seven += Pass(kPeriodNs - kPeriodNs * 3 / 10);
    }
    EXPECT_NEAR(static_cast<double>(three + seven), kTurns, 2.0);
    EXPECT_NEAR(static_cast<double>(three), 0.3 * kTurns,
                kSigmas * std::sqrt(kTurns * 0.3 * 0.7) + 2);
  }
}

TEST_F(SamplingPointsTest, ShortAndLongWaitsAreEquallyTrue) {
  constexpr int kTurns = 20'000;
  std::uint64_t short_points = 0;
  std::uint64_t long_points = 0;
  std::uint64_t short_ns = 0;
  std::uint64_t long_ns = 0;
  const std::uint64_t begin = now_;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t length = 1'000 + Below(19'000);
      short_ns += length;
      short_points += Pass(length, 5'000);
    }
    const std::uint64_t length = Below(2'000'000);
    long_ns += length;
    long_points += Pass(length, 10'000);
  }
  const double periods = static_cast<double>(now_ - begin) / kPeriodNs;
  const double bound = kSigmas * std::sqrt(periods / 4) + 2;
  EXPECT_NEAR(static_cast<double>(short_points), static_cast<double>(short_ns) / kPeriodNs, bound);
  EXPECT_NEAR(static_cast<double>(long_points), static_cast<double>(long_ns) / kPeriodNs, bound);
}

TEST_F(SamplingPointsTest, AnotherLevelHoldsFromTheNextIntervalOn) {
  for (int turn = 0; turn < 100'000; ++turn) {
    const auto level = static_cast<std::uint32_t>(20 + Below(6));
    user_control()->off_cpu_level = level;
    const std::uint64_t length = Below(2'000'000);
    ASSERT_EQ(Find(now_, now_ + length).blocked,
              profd_points_in(kSeed, level, now_, now_ + length));
    now_ += length;
  }
}

TEST_F(SamplingPointsTest, BackgroundSessionsHaveALevelOfTheirOwn) {
  user_control()->background_off_cpu_level = kLevel + 3;
  std::uint64_t fine = 0;
  std::uint64_t coarse = 0;
  for (int turn = 0; turn < 100'000; ++turn) {
    const std::uint64_t end = now_ + Below(1'000'000);
    const user_points background = Find(now_, end, 0, kBackground);
    const user_points requested = Find(now_, end, 0, kRequested | kBackground);
    ASSERT_LE(background.blocked, requested.blocked) << "a coarse point is a fine one, too";
    ASSERT_EQ(background.blocked, profd_points_in(kSeed, kLevel + 3, now_, end));
    fine += requested.blocked;
    coarse += background.blocked;
    now_ = end;
  }
  EXPECT_NEAR(static_cast<double>(fine) / 8, static_cast<double>(coarse), 2.0);
}

TEST_F(SamplingPointsTest, WithoutALevelNothingIsSampled) {
  user_control()->off_cpu_level = 0;
  EXPECT_EQ(Find(now_, now_ + 100 * kPeriodNs).blocked, 0u);
  user_control()->off_cpu_level = kLevel;
  EXPECT_NEAR(Find(now_, now_ + 100 * kPeriodNs).blocked, 100, 1);
  user_control()->off_cpu_level = 0;
  EXPECT_EQ(Find(now_, now_ + 100 * kPeriodNs).blocked, 0u);
}

TEST_F(SamplingPointsTest, AWaitSinceTheHostHasStarted) {
  user_control()->off_cpu_level = PROFD_COARSEST_LEVEL;
  const std::uint64_t point = profd_point(kSeed, PROFD_COARSEST_LEVEL, 0);
  EXPECT_EQ(Find(1, point).blocked, 0u);
  EXPECT_EQ(Find(1, point + 1).blocked, 1u);
  user_control()->off_cpu_level = PROFD_FINEST_LEVEL;
  EXPECT_EQ(Find(1, ~std::uint64_t{0}).blocked, 0xffffffffu) << "more than fit";
}

// Ticks of 1 ms, as a session needs them that a client requested, and periods of 10 ms.
TEST_F(SamplingPointsTest, TicksBeyondWhatIsNeededAreSubsampledByChance) {
  constexpr std::uint64_t kNeededNs = 10'000'000;
  constexpr int kTicks = 100'000;
  std::uint64_t sum = 0;
  std::uint64_t ticked_ns = 0;
  for (int i = 0; i < kTicks; ++i) {
    const std::uint64_t ticked = 500'000 + Below(1'000'000);
    EXPECT_EQ(user_on_cpu_weight(kRequested, kNeededNs, kRequested | kBackground, ticked), ticked);
    EXPECT_EQ(user_on_cpu_weight(kRequested, 0, kBackground, ticked), ticked)
        << "no finer than needed";
    const std::uint64_t weight = user_on_cpu_weight(kRequested, kNeededNs, kBackground, ticked);
    ASSERT_TRUE(weight == 0 || weight == kNeededNs);
    sum += weight;
    ticked_ns += ticked;
  }
  // A draw with a chance of 0.05 to 0.15 each: variance at most 0.13.
  EXPECT_NEAR(static_cast<double>(sum) / kNeededNs, static_cast<double>(ticked_ns) / kNeededNs,
              kSigmas * std::sqrt(kTicks * 0.13));
}

}  // namespace
}  // namespace profd
