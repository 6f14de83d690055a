#include "daemon/aggregate/clipping.h"

#include "daemon/base/mul_div.h"

#include <gtest/gtest.h>

#include <limits>

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST(Intersect, KeepsTheCommonPart) {
  EXPECT_EQ(Intersect({10, 20}, {15, 30}), (Window{15, 20}));
  EXPECT_EQ(Intersect({10, 20}, {0, 12}), (Window{10, 12}));
  EXPECT_EQ(Intersect({10, 20}, {12, 18}), (Window{12, 18}));
  EXPECT_EQ(Intersect({10, 20}, {0, 100}), (Window{10, 20}));
}

TEST(Intersect, IsEmptyWhereThereIsNone) {
  EXPECT_EQ(Intersect({10, 20}, {20, 30}).Length(), 0u);
  EXPECT_EQ(Intersect({10, 20}, {0, 10}).Length(), 0u);
  EXPECT_EQ(Intersect({20, 10}, {0, 100}).Length(), 0u);
}

TEST(MulDiv, DoesNotOverflow) {
  EXPECT_EQ(MulDiv(kMax, kMax, kMax), kMax);
  EXPECT_EQ(MulDiv(10, 7, 3), 23u);
}

TEST(ClipWeight, IsInProportionToTheLengthInside) {
  // 3 marks of 10 in an interval of 40, a quarter of which is inside.
  EXPECT_EQ(ClipWeight(30, {100, 140}, {130, 1000}), 7u);
  EXPECT_EQ(ClipWeight(30, {100, 140}, {0, 110}), 7u);
  EXPECT_EQ(ClipWeight(30, {100, 140}, {110, 130}), 15u);
}

TEST(ClipWeight, IsAllInsideAndNothingOutside) {
  EXPECT_EQ(ClipWeight(30, {100, 140}, {100, 140}), 30u);
  EXPECT_EQ(ClipWeight(30, {100, 140}, {140, 200}), 0u);
  EXPECT_EQ(ClipWeight(30, {140, 140}, {0, 200}), 0u);
}

}  // namespace
}  // namespace profd::aggregate
