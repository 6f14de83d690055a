#include "client/profile/share_error.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

namespace profd::client {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr double kFactor = 0.5;
constexpr std::uint32_t kEnd = 6;  // bits
constexpr std::uint32_t kSet = 32;
constexpr std::uint32_t kMinus = 16;

struct Sample {
  std::uint64_t weight_ns = 0;
  std::uint32_t count = 1;
  std::uint32_t edges = 0;
  bool exact = false;
};

v1::Profile ProfileOf(std::initializer_list<Sample> all) {
  v1::Profile profile;
  profile.add_processes();
  v1::Thread& thread = *profile.add_threads();
  for (int i = 0; i < 3; ++i) thread.add_edge_factors(kFactor);
  for (const Sample& sample : all) {
    v1::Samples& to = *profile.mutable_samples();
    to.add_weight_ns(sample.weight_ns);
    to.add_thread(0);
    to.add_state(v1::STATE_BLOCKED);
    to.add_count(sample.count);
    to.add_exact(sample.exact);
    to.add_edges(sample.edges);
  }
  return profile;
}

ErrorSum SumOf(const ShareError& error, std::initializer_list<int> samples) {
  ErrorSum sum;
  for (const int sample : samples) error.Add(sample, sum);
  return sum;
}

// The first ends where the second begins, in part 3.
v1::Profile Neighbours() {
  return ProfileOf({{60 * kMs, 6, (kSet | 3) << kEnd}, {40 * kMs, 4, kSet | kMinus | 3}});
}

TEST(ShareError, OneOfTwoNeighboursIsWrongByOneEdge) {
  const v1::Profile profile = Neighbours();
  const ShareError error(profile);
  const auto interval = ShareInterval(SumOf(error, {0}), 100 * kMs);
  ASSERT_TRUE(interval.has_value());
  // An edge of half a point of 10 ms is 5 % of the total.
  const Interval expected = WilsonInterval(0.6, 0.05 * 0.05);
  EXPECT_DOUBLE_EQ(interval->low, expected.low);
  EXPECT_DOUBLE_EQ(interval->high, expected.high);
}

TEST(ShareError, AllOfAThreadAndStateIsExact) {
  const v1::Profile profile = Neighbours();
  const ShareError error(profile);
  ErrorSum sum = SumOf(error, {0});
  sum += SumOf(error, {1});
  const auto interval = ShareInterval(sum, 200 * kMs);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 0.5);
  EXPECT_EQ(interval->high, 0.5);
}

TEST(ShareError, WhatIsTakenOutOfASumIsNoPartOfIt) {
  const v1::Profile profile = Neighbours();
  const ShareError error(profile);
  ErrorSum sum = SumOf(error, {0, 1});
  sum -= SumOf(error, {1});
  EXPECT_EQ(sum.weight_ns, 60 * kMs);
  EXPECT_DOUBLE_EQ(sum.parts[3], SumOf(error, {0}).parts[3]);
}

// Both are wrong by what the state as a whole was seen too often, which scaling has taken away.
TEST(ShareError, ScalingToTheClockTakesItsPartOfTheErrorAway) {
  const v1::Profile profile = ProfileOf({{50 * kMs, 5, kSet | 1}, {50 * kMs, 5, kSet | 2}});
  const ShareError error(profile);
  const ErrorSum sum = SumOf(error, {0});
  // An edge of 5 ms in part 1 and none in part 2, less half of the edges of both.
  EXPECT_DOUBLE_EQ(sum.parts[1], 2.5 * kMs);
  EXPECT_DOUBLE_EQ(sum.parts[2], -2.5 * kMs);
}

TEST(ShareError, ExactTimeHasNone) {
  const v1::Profile profile =
      ProfileOf({{50 * kMs, 5, kSet | 1}, {50 * kMs, 1, kSet | 2, true}, {30 * kMs, 3, kSet | 4}});
  const ShareError error(profile);
  const auto interval = ShareInterval(SumOf(error, {1}), 130 * kMs);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, interval->high);
}

TEST(ShareError, TimeWithoutASampleMayBelongToWhatHasOne) {
  const v1::Profile profile = ProfileOf(
      {{60 * kMs, 6, (kSet | 3) << kEnd}, {20 * kMs, 2, kSet | kMinus | 3}, {20 * kMs, 0, 0}});
  const ShareError error(profile);
  EXPECT_DOUBLE_EQ(SumOf(error, {0, 1}).missing_ns, 20.0 * kMs);
  EXPECT_EQ(ShareInterval(SumOf(error, {0, 1}), 100 * kMs)->high, 1.0);
}

TEST(ShareError, IsNotKnownOfProfilesWithoutEdges) {
  v1::Profile profile = Neighbours();
  profile.mutable_samples()->clear_edges();
  const ShareError error(profile);
  EXPECT_FALSE(error.known());
  EXPECT_FALSE(ShareInterval(SumOf(error, {0}), 100 * kMs).has_value());
}

// Without a filter the rates of all samples are those of the profile; with one its samples are
// compared with what all of them had, and the share of one in what is left with both.
TEST(ShareError, ThePartThatAFilterLeavesIsComparedWithAllSamples) {
  const v1::Profile whole =
      ProfileOf({{50 * kMs, 5, kSet | 1}, {25 * kMs, 5, kSet | 2}, {25 * kMs, 5, kSet | 3}});
  const ShareError of_whole(whole);
  v1::Profile part = whole;
  v1::Samples& samples = *part.mutable_samples();
  for (auto* column : {samples.mutable_weight_ns()}) column->Truncate(2);
  for (auto* column : {samples.mutable_thread(), samples.mutable_count(), samples.mutable_edges()})
    column->Truncate(2);
  samples.mutable_state()->Truncate(2);
  samples.mutable_exact()->Truncate(2);
  const ShareError of_part(part, of_whole.rates());
  for (const int sample : {0, 1})
    EXPECT_EQ(SumOf(of_part, {sample}).parts, SumOf(of_whole, {sample}).parts);
  const ErrorSum all = SumOf(of_part, {0, 1});
  EXPECT_GT(all.variance(), 0);
  EXPECT_EQ(ShareReach(all, all), 0.0) << "all of it is all of it";
  EXPECT_GT(*ShareReach(SumOf(of_part, {0}), all), 0);
  const ErrorSum of_all = SumOf(of_whole, {0, 1, 2});
  EXPECT_NEAR(*ShareReach(SumOf(of_whole, {0}), of_all),
              *ShareReach(SumOf(of_whole, {0}), 100 * kMs), 1e-6);
  part.set_filter("state = blocked");
  EXPECT_FALSE(ShareError(part).known()) << "the other samples are not there any more";
}

TEST(ShareError, NumbersOfAFileThatAreNoneCountAsNone) {
  v1::Profile profile = Neighbours();
  profile.mutable_threads(0)->set_edge_factors(v1::STATE_BLOCKED, std::nan(""));
  const ShareError error(profile);
  const auto interval = ShareInterval(SumOf(error, {0}), 100 * kMs);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, interval->high);
}

TEST(WilsonInterval, StaysBetweenNothingAndAll) {
  for (const double share : {0.0, 0.001, 0.5, 0.999, 1.0})
    for (const double variance : {0.0, 1e-6, 0.01, 10.0}) {
      const Interval interval = WilsonInterval(share, variance);
      EXPECT_GE(interval.low, 0);
      EXPECT_LE(interval.low, share);
      EXPECT_GE(interval.high, share);
      EXPECT_LE(interval.high, 1);
    }
}

TEST(ShareError, QuantilesAreThoseOfTables) {
  EXPECT_NEAR(StudentQuantile(0.05, 2), 4.303, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 10), 2.228, 0.001);
  EXPECT_NEAR(StudentQuantile(0.001, 20), 3.850, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 60), 2.000, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 11.9), 2.201, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 3), 3.182, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 15), 2.131, 0.001);
}

}  // namespace
}  // namespace profd::client
