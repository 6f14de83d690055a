// Shares: bounded in every second, back when it has passed, and unbiased where samples are
// subsampled out.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

TEST(ShareTest, SoManyAtOnceAndThenSoManyASecond) {
  profd_share share{};
  std::uint64_t now = 77 * kSecondNs;
  int taken = 0;
  while (user_take_one(&share, now, 100, 1'000) != 0) ++taken;
  EXPECT_EQ(taken, 1'000);
  EXPECT_EQ(share.beyond, 1u);
  EXPECT_EQ(share.beyond_ns, now);
  // A storm for ten seconds, a million a second.
  taken = 0;
  for (int i = 0; i < 10'000'000; ++i)
    taken += user_take_one(&share, now += kSecondNs / 1'000'000, 100, 1'000);
  EXPECT_EQ(taken, 1'000);
  EXPECT_EQ(share.beyond, 1u + 10'000'000 - 1'000);
  now += 10 * kSecondNs;
  taken = 0;
  while (user_take_one(&share, now, 100, 1'000) != 0) ++taken;
  EXPECT_EQ(taken, 1'000) << "all of it is back";
}

TEST(ShareTest, WhatStaysWithinItIsNeverLeftOut) {
  profd_share share{};
  std::uint64_t now = kSecondNs;
  for (int i = 0; i < 100'000; ++i)
    ASSERT_TRUE(user_take_one(&share, now += 10'000'000, 100, 1'000));
  EXPECT_EQ(share.beyond, 0u);
  EXPECT_EQ(share.beyond_ns, 0u);
}

constexpr std::uint64_t kInBlock = 50;

// Samples at a rate, for so many blocks. Those that a block takes, by its number.
std::vector<std::uint64_t> Taken(std::uint64_t per_block, int blocks) {
  profd_share share{};
  std::mt19937_64 random(20261124);
  std::vector<std::uint64_t> taken(static_cast<std::size_t>(blocks));
  std::uint64_t now = kSecondNs;
  for (auto& block : taken) {
    for (std::uint64_t i = 0; i < per_block; ++i) {
      now += PROFD_WAITS_BLOCK_NS / per_block;
      const std::uint32_t halvings = user_count_wait(&share, now, kInBlock);
      block += (random() & ((1u << halvings) - 1)) == 0;
    }
  }
  return taken;
}

TEST(ShareTest, AnOrdinaryProcessHasAllItsSamples) {
  for (const std::uint64_t taken : Taken(kInBlock - 1, 20)) EXPECT_EQ(taken, kInBlock - 1);
}

TEST(ShareTest, SamplesOfAStormAreBounded) {
  // Once it has settled, a block of n samples has a halvings with n <= 50 << halvings < 4 n, so it
  // takes at most 50 on average; five standard deviations of a binomial are less than 5 * sqrt(50).
  const auto most = static_cast<std::uint64_t>(kInBlock + 5 * std::sqrt(kInBlock));
  for (const std::uint64_t per_block : {100u, 1'000u, 25'000u, 250'000u}) {
    const std::vector<std::uint64_t> taken = Taken(per_block, 20);
    // The first block meets every step: 50 for each doubling, the first two at full rate.
    EXPECT_LE(taken[0], 2 * kInBlock * (1 + std::bit_width(per_block / kInBlock))) << per_block;
    for (std::size_t i = 1; i < taken.size(); ++i) EXPECT_LE(taken[i], most) << per_block;
    EXPECT_GE(*std::ranges::min_element(taken), 1u) << per_block;
  }
}

// Two kinds of samples take turns, one ten times as often, at rates that change: what is taken,
// times what it stands for, is as much as there was. The variance of the sum is the sum of
// (2^halvings - 1) over all samples of the kind, as each is kept with 2^-halvings and counts
// 2^halvings.
TEST(ShareTest, SumsOfSubsampledWaitsAreUnbiased) {
  profd_share share{};
  std::mt19937_64 random(1);
  double there[2] = {0, 0};
  double sum[2] = {0, 0};
  double variance[2] = {0, 0};
  std::uint64_t now = kSecondNs;
  for (int i = 0; i < 2'000'000; ++i) {
    const int kind = random() % 11 == 0;
    now += (i / 100'000) % 2 == 0 ? 5'000 : 2'000'000;
    const std::uint32_t halvings = user_count_wait(&share, now, kInBlock);
    const double stands_for = std::ldexp(1.0, static_cast<int>(halvings));
    there[kind] += 1;
    variance[kind] += stands_for - 1;
    if ((random() & ((1u << halvings) - 1)) == 0) sum[kind] += stands_for;
  }
  for (const int kind : {0, 1}) {
    EXPECT_GT(variance[kind], there[kind]) << "nothing was subsampled";
    EXPECT_LE(std::abs(sum[kind] - there[kind]), 5 * std::sqrt(variance[kind])) << kind;
  }
}

TEST(ShareTest, AnIdleProcessBeginsAgain) {
  profd_share share{};
  std::uint64_t now = kSecondNs;
  for (int i = 0; i < 100'000; ++i) (void)user_count_wait(&share, now += 1'000, kInBlock);
  EXPECT_GT(share.halvings, 5u);
  EXPECT_EQ(user_count_wait(&share, now + 2 * PROFD_WAITS_BLOCK_NS, kInBlock), 0u);
}

}  // namespace
}  // namespace profd
