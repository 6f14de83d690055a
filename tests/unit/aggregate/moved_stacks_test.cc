#include "daemon/aggregate/moved_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace profd::aggregate {
namespace {

using process::State;
using ::testing::ElementsAre;

std::vector<std::uint64_t> WeightsOf(const std::vector<PlacedWeight>& samples) {
  std::vector<std::uint64_t> weights;
  for (const PlacedWeight& sample : samples) weights.push_back(sample.weight_ns);
  return weights;
}

std::vector<std::uint64_t> CountsOf(const std::vector<PlacedWeight>& samples) {
  std::vector<std::uint64_t> counts;
  for (const PlacedWeight& sample : samples) counts.push_back(sample.count);
  return counts;
}

TEST(MovedStacks, StacksOfOnePlaceShareInProportion) {
  std::vector<PlacedWeight> whole{{State::kBlocked, 1, 7, 10, 1},
                                  {State::kBlocked, 1, 7, 20, 2},
                                  {State::kBlocked, 1, 8, 30, 3}};
  ShareMoved(std::vector<PlacedWeight>{{State::kBlocked, 1, 7, 10, 1}}, whole);
  EXPECT_THAT(WeightsOf(whole), ElementsAre(13, 27, 30)) << "3.33 and 6.67";
  EXPECT_THAT(CountsOf(whole), ElementsAre(1, 3, 3));
}

TEST(MovedStacks, StatesAreKeptApart) {
  std::vector<PlacedWeight> whole{{State::kBlocked, 1, 7, 10, 1}, {State::kRunnable, 1, 7, 10, 1}};
  ShareMoved(std::vector<PlacedWeight>{{State::kRunnable, 1, 7, 5, 1}}, whole);
  EXPECT_THAT(WeightsOf(whole), ElementsAre(10, 15));
}

TEST(MovedStacks, TheOrderDoesNotMatterAndNothingGetsLost) {
  std::vector<PlacedWeight> moved;
  for (std::uint64_t i = 0; i < 50; ++i)
    moved.push_back({State::kBlocked, static_cast<std::int32_t>(i % 3), i % 7, 11 + i, 1});
  std::vector<PlacedWeight> first;
  for (std::uint64_t i = 0; i < 9; ++i)
    first.push_back({State::kBlocked, static_cast<std::int32_t>(i % 3), i % 5, 1 + i * i, 1 + i});
  auto second = first;
  const auto total = [](const std::vector<PlacedWeight>& samples) {
    std::uint64_t sum = 0;
    for (const auto ns : WeightsOf(samples)) sum += ns;
    return sum;
  };
  const std::uint64_t before = total(first);
  ShareMoved(moved, first);
  EXPECT_EQ(total(first), before + total(moved));
  std::ranges::reverse(moved);
  ShareMoved(moved, second);
  EXPECT_EQ(WeightsOf(second), WeightsOf(first));
  EXPECT_EQ(CountsOf(second), CountsOf(first));
}

}  // namespace
}  // namespace profd::aggregate
