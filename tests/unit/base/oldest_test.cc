#include "daemon/base/oldest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace profd {
namespace {

TEST(OldestTenth, OfTimesInAnyOrder) {
  std::vector<std::uint64_t> times;
  for (std::uint64_t i = 0; i < 100; ++i) times.push_back(i * 37 % 100);
  const std::uint64_t limit = OldestTenth(times);
  EXPECT_EQ(limit, 10u);
  EXPECT_EQ(std::ranges::count_if(times, [&](std::uint64_t time) { return time <= limit; }), 11);
}

TEST(OldestTenth, OfFewAndOfEqualOnes) {
  EXPECT_EQ(OldestTenth({7}), 7u);
  EXPECT_EQ(OldestTenth({9, 3, 5}), 3u);
  EXPECT_EQ(OldestTenth(std::vector<std::uint64_t>(50, 4)), 4u);
}

}  // namespace
}  // namespace profd
