#include "daemon/base/keys.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace profd {
namespace {

TEST(KeysTest, ANumberAloneIsNoIdentity) {
  EXPECT_EQ((ProcessKey{1, 2}), (ProcessKey{1, 2}));
  EXPECT_NE((ProcessKey{1, 2}), (ProcessKey{1, 3}));
  EXPECT_NE((ThreadKey{1, 2}), (ThreadKey{2, 2}));
  EXPECT_LT((ThreadKey{1, 9}), (ThreadKey{2, 0}));
}

TEST(KeysTest, HashesOfNeighboursDiffer) {
  std::unordered_set<std::size_t> hashes;
  for (std::uint32_t pid = 0; pid < 100; ++pid) {
    for (std::uint64_t start = 0; start < 100; ++start)
      hashes.insert(std::hash<ProcessKey>{}({pid, start * 10'000'000}));
  }
  EXPECT_EQ(hashes.size(), 10'000u);
}

// The generator of which MixBits is the step starts with these for seed 0 (Steele et al. 2014).
TEST(KeysTest, MixBitsIsSplitMix64) {
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdafull);
  EXPECT_EQ(MixBits(0x9e3779b97f4a7c15ull), 0x6e789e6aa1b965f4ull);
}

}  // namespace
}  // namespace profd
