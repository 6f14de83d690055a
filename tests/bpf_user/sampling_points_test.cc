// Marks: every ns of off-CPU time is as likely to be sampled as any other.
//
// With P the period, an interval that spans whole periods has one sampling point in each; only its
// two ends are left to chance. So the points in [0, T) differ from T / P by less than 1, and the
// number that fall into a set of intervals has at most the variance of independent draws, one per
// period: q (1 - q) with q the set's share of that period, which is at most 1/4 each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kPeriodNs = 10'000'000;
// Below it a true result fails in fewer than one of a million runs of a test.
constexpr double kSigmas = 5.0;

class SamplingPointsTest : public testing::Test {
 protected:
  SamplingPointsTest() {
    user_reset();
    user_set_random([](void* self) { return static_cast<SamplingPointsTest*>(self)->Draw(); },
                    this);
    NewThread();
  }
  ~SamplingPointsTest() override { user_thread_free(thread_); }

  std::uint32_t Draw() { return static_cast<std::uint32_t>(random_()); }
  std::uint64_t Below(std::uint64_t range) { return random_() % range; }

  void NewThread() {
    if (thread_ != nullptr) user_thread_free(thread_);
    const user_accounting none{};
    thread_ = user_thread_begin(0, PROFD_STATE_ON_CPU, 0, &none);
  }
  std::uint32_t Pass(std::uint64_t length) { return user_points(thread_, kPeriodNs, length); }

  std::mt19937_64 random_{20251121};
  user_thread* thread_ = nullptr;
};

TEST_F(SamplingPointsTest, OnePerPeriodHoweverTheTimeIsCut) {
  for (int round = 0; round < 200; ++round) {
    NewThread();
    std::uint64_t total = 0;
    std::uint64_t points = 0;
    while (total < 100 * kPeriodNs) {
      const std::uint64_t length = Below(round % 2 == 0 ? 100'000 : 5 * kPeriodNs);
      points += Pass(length);
      total += length;
      const double expected = static_cast<double>(total) / kPeriodNs;
      ASSERT_LE(std::abs(static_cast<double>(points) - expected), 2.0);
    }
  }
}

TEST_F(SamplingPointsTest, LongWaitContainsAllItsMarks) {
  for (int round = 0; round < 1'000; ++round) {
    NewThread();
    const std::uint64_t length = 1'000 * kPeriodNs + Below(kPeriodNs);
    const double expected = static_cast<double>(length) / kPeriodNs;
    ASSERT_LE(std::abs(Pass(length) - expected), 2.0);
  }
}

TEST_F(SamplingPointsTest, FirstIntervalOfAThreadIsNotPreferred) {
  constexpr int kThreads = 200'000;
  constexpr std::uint64_t kLength = kPeriodNs / 4;
  std::uint64_t points = 0;
  for (int i = 0; i < kThreads; ++i) {
    NewThread();
    points += Pass(kLength);
  }
  // Two draws per thread at most, 0 to 2 points with mean 1/4: variance at most 1/4 + 1/16.
  const double bound = kSigmas * std::sqrt(kThreads * (0.25 + 0.0625));
  EXPECT_NEAR(static_cast<double>(points), kThreads * 0.25, bound);
}

// Waits of 3 ms and 7 ms in turn: the rhythm of a period. True share of the first: 0.3.
TEST_F(SamplingPointsTest, RhythmOfThePeriodDoesNotMatter) {
  for (int run = 0; run < 20; ++run) {
    NewThread();
    constexpr int kTurns = 10'000;
    std::uint64_t three = 0;
    std::uint64_t seven = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
      three += Pass(3'000'000);
      seven += Pass(7'000'000);
    }
    EXPECT_NEAR(static_cast<double>(three + seven), kTurns, 2.0);
    EXPECT_NEAR(static_cast<double>(three), 0.3 * kTurns,
                kSigmas * std::sqrt(kTurns * 0.3 * 0.7) + 2);
  }
}

TEST_F(SamplingPointsTest, ShortAndLongWaitsAreEquallyTrue) {
  constexpr int kTurns = 20'000;
  std::uint64_t short_marks = 0;
  std::uint64_t long_marks = 0;
  std::uint64_t short_ns = 0;
  std::uint64_t long_ns = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t length = 1'000 + Below(19'000);
      short_ns += length;
      short_marks += Pass(length);
    }
    const std::uint64_t length = Below(2'000'000);
    long_ns += length;
    long_marks += Pass(length);
  }
  const double periods = static_cast<double>(short_ns + long_ns) / kPeriodNs;
  const double bound = kSigmas * std::sqrt(periods / 4) + 2;
  EXPECT_NEAR(static_cast<double>(short_marks), static_cast<double>(short_ns) / kPeriodNs, bound);
  EXPECT_NEAR(static_cast<double>(long_marks), static_cast<double>(long_ns) / kPeriodNs, bound);
}

TEST_F(SamplingPointsTest, AnotherPeriodBeginsAnew) {
  constexpr int kTurns = 100'000;
  std::uint64_t fine = 0;
  std::uint64_t coarse = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    coarse += user_points(thread_, 10'000'000, 1'000'000);
    fine += user_points(thread_, 4'000'000, 1'000'000);
  }
  EXPECT_NEAR(static_cast<double>(coarse), kTurns * 0.10, kSigmas * std::sqrt(kTurns * 0.11));
  EXPECT_NEAR(static_cast<double>(fine), kTurns * 0.25, kSigmas * std::sqrt(kTurns * 0.32));
}

// Ticks of 1 ms, as a session needs them that a client requested, and periods of 10 ms.
TEST_F(SamplingPointsTest, TicksBeyondWhatIsNeededAreSubsampledByChance) {
  constexpr std::uint64_t kRequested = 1;
  constexpr std::uint64_t kBackground = 2;
  constexpr int kTicks = 100'000;
  std::uint64_t sum = 0;
  std::uint64_t ticked_ns = 0;
  for (int i = 0; i < kTicks; ++i) {
    const std::uint64_t ticked = 500'000 + Below(1'000'000);
    EXPECT_EQ(user_on_cpu_weight(kRequested, kPeriodNs, kRequested | kBackground, ticked), ticked);
    EXPECT_EQ(user_on_cpu_weight(kRequested, 0, kBackground, ticked), ticked)
        << "no finer than needed";
    const std::uint64_t weight = user_on_cpu_weight(kRequested, kPeriodNs, kBackground, ticked);
    ASSERT_TRUE(weight == 0 || weight == kPeriodNs);
    sum += weight;
    ticked_ns += ticked;
  }
  // A draw with a chance of 0.05 to 0.15 each: variance at most 0.13.
  EXPECT_NEAR(static_cast<double>(sum) / kPeriodNs, static_cast<double>(ticked_ns) / kPeriodNs,
              kSigmas * std::sqrt(kTicks * 0.13));
}

TEST_F(SamplingPointsTest, PeriodsBeyondFourSecondsAreDrawnInFull) {
  constexpr std::uint64_t kMinute = 60'000'000'000;
  std::uint64_t early = 0;
  std::uint64_t late = 0;
  for (int turn = 0; turn < 10'000; ++turn) {
    early += user_points(thread_, kMinute, kMinute / 2);
    late += user_points(thread_, kMinute, kMinute / 2);
  }
  EXPECT_NEAR(static_cast<double>(early + late), 10'000, 2.0);
  EXPECT_NEAR(static_cast<double>(early), 5'000, kSigmas * 50 + 2);
}

}  // namespace
}  // namespace profd
