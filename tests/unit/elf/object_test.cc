#include "daemon/elf/file/object.h"

#include <gtest/gtest.h>

namespace profd::elf {
namespace {

TEST(VaddrOf, GoesThroughTheSegmentThatHoldsTheOffset) {
  const std::vector<LoadSegment> segments = {{0, 0x400000, 0x1234, false},
                                             {0x2000, 0x403000, 0x1000, true}};
  EXPECT_EQ(VaddrOf(segments, 0x10), 0x400010u);
  EXPECT_EQ(VaddrOf(segments, 0x2000), 0x403000u);
  EXPECT_EQ(VaddrOf(segments, 0x2fff), 0x403fffu);
  EXPECT_EQ(VaddrOf(segments, 0x3000), std::nullopt);
}

TEST(VaddrOf, CountsTheRestOfTheLastPage) {
  const std::vector<LoadSegment> segments = {{0, 0x400000, 0x1234, true}};
  EXPECT_EQ(VaddrOf(segments, 0x1fff), 0x401fffu);
  EXPECT_EQ(VaddrOf(segments, 0x2000), std::nullopt);
}

TEST(VaddrOf, PrefersTheSegmentThatTrulyHoldsTheOffset) {
  // One page of the file is mapped twice: the end of the first segment, the start of the second.
  const std::vector<LoadSegment> segments = {{0, 0x400000, 0x1800, false},
                                             {0x1800, 0x402800, 0x800, true}};
  EXPECT_EQ(VaddrOf(segments, 0x17ff), 0x4017ffu);
  EXPECT_EQ(VaddrOf(segments, 0x1800), 0x402800u);
}

TEST(VaddrOf, PrefersCode) {
  const std::vector<LoadSegment> segments = {{0, 0x400000, 0x1000, false},
                                             {0, 0x500000, 0x1000, true}};
  EXPECT_EQ(VaddrOf(segments, 0x10), 0x500010u);
}

TEST(VaddrOf, NonsenseHasNoPlace) {
  EXPECT_EQ(VaddrOf({}, 0), std::nullopt);
  EXPECT_EQ(VaddrOf({{0, 0x1000, 0, true}}, 0), std::nullopt);
}

}  // namespace
}  // namespace profd::elf
