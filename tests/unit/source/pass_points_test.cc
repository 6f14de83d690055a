#include "daemon/source/observe/pass_points.h"

#include <gtest/gtest.h>

#include <map>

#include "bpf/shared/points.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kSeed = 0x1234567;
constexpr std::uint32_t kLevel = 26;
constexpr std::uint64_t kLongNs = std::uint64_t{1} << PROFD_LONG_LEVEL;
constexpr std::uint64_t kStartNs = 1'000 * kLongNs;
constexpr std::uint64_t kLongPeriods = 50;

class PassPointsTest : public testing::TestWithParam<std::uint32_t> {
 protected:
  [[nodiscard]] std::uint64_t shift_ns() const { return GetParam() * PROFD_STREAM_SHIFT_NS; }
  const PassPoints points_{GetParam(), kLevel, kSeed};
};

// Each long period has all points of the level, one in each of its periods, and one of them is
// long.
TEST_P(PassPointsTest, EveryLongPeriodIsVisitedAtEachPointAndOnceForAll) {
  std::map<std::uint32_t, std::uint64_t> weights;
  std::map<std::uint32_t, std::uint64_t> long_weights;
  std::uint64_t before_ns = kStartNs + shift_ns() - 1;
  for (;;) {
    const std::uint64_t point_ns = points_.After(before_ns);
    ASSERT_GT(point_ns, before_ns);
    const profd_pass pass = points_.PassAt(point_ns);
    EXPECT_EQ(pass.point_ns, point_ns);
    EXPECT_EQ(pass.stream, GetParam());
    EXPECT_EQ(pass.long_period, (point_ns - shift_ns()) >> PROFD_LONG_LEVEL);
    if (pass.long_period >= 1'000 + kLongPeriods) break;
    weights[pass.long_period] += pass.weight_ns;
    long_weights[pass.long_period] += pass.long_weight_ns;
    before_ns = point_ns;
  }
  ASSERT_EQ(weights.size(), kLongPeriods);
  for (const auto& [period, weight] : weights) {
    EXPECT_EQ(weight, kLongNs) << period;
    EXPECT_EQ(long_weights[period], kLongNs) << period;
  }
}

TEST_P(PassPointsTest, PointsAreThoseOfTheHostLaterByTheShift) {
  std::uint64_t point_ns = kStartNs;
  for (int i = 0; i < 100; ++i) {
    point_ns = points_.After(point_ns);
    const std::uint64_t time_ns = point_ns - shift_ns();
    EXPECT_EQ(time_ns, profd_point(kSeed, kLevel, time_ns >> kLevel));
  }
}

TEST_P(PassPointsTest, NoPointIsBetweenATimeAndTheNextOne) {
  const std::uint64_t point_ns = points_.After(kStartNs);
  EXPECT_EQ(points_.After(point_ns - 1), point_ns);
  EXPECT_GT(points_.After(point_ns), point_ns);
}

TEST_P(PassPointsTest, AtTheLongLevelEveryPassVisitsAll) {
  const PassPoints points(GetParam(), PROFD_LONG_LEVEL, kSeed);
  std::uint64_t point_ns = kStartNs;
  for (int i = 0; i < 10; ++i) {
    point_ns = points.After(point_ns);
    EXPECT_EQ(points.PassAt(point_ns).long_weight_ns, kLongNs);
    EXPECT_EQ(points.PassAt(point_ns).weight_ns, kLongNs);
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, PassPointsTest, testing::Range(0u, std::uint32_t{PROFD_STREAMS}));

}  // namespace
}  // namespace profd::source
