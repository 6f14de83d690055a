// How often intervals over hosts contain the truth, by fleets whose truth is known.
#include <gtest/gtest.h>

#include <random>

#include "client/fleet/fleet_profile.h"
#include "client/profile/diff.h"
#include "client/profile/share_error.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kHostNs = 3'600'000'000'000;
constexpr double kTrueShare = 0.2;

FleetQuestion Groups() {
  FleetQuestion question;
  question.service = "cart";
  question.by_host_groups = true;
  return question;
}

// `hosts` of which each has a share of its own for one function, around `mean`.
v1::Profile FleetOf(std::size_t hosts, double mean, std::mt19937_64& random) {
  FleetStacks stacks;
  for (const std::uint64_t hash : {1, 2})
    stacks[hash] = {{hash == 1 ? "slow" : "rest"}, {"cart"}, {""}, {v1::FRAME_NATIVE}};
  std::normal_distribution<double> share(mean, 0.04);
  std::vector<FleetRow> rows;
  std::map<std::uint8_t, FleetPart> parts;
  for (std::size_t i = 0; i < hosts; ++i) {
    const auto group = static_cast<std::uint8_t>(i % kHostGroups);
    const auto slow = static_cast<std::uint64_t>(std::clamp(share(random), 0.0, 1.0) *
                                                 static_cast<double>(kHostNs));
    for (const auto& [hash, ns] :
         {std::pair<std::uint64_t, std::uint64_t>(1, slow), {2, kHostNs - slow}})
      rows.push_back({.keys = {},
                      .group = group,
                      .thread = "worker",
                      .state = FleetState::kRunning,
                      .hash = hash,
                      .ns = ns,
                      .points = 1000});
    FleetPart& part = parts.try_emplace(group, FleetPart{{}, group, 0, 0}).first->second;
    ++part.hosts;
    part.windows += 60;
  }
  std::vector<FleetPart> all;
  for (const auto& [group, part] : parts) all.push_back(part);
  Coverage coverage;
  coverage.hosts = hosts;
  coverage.to_s = 3'600;
  coverage.window_s = 60;
  return ProfileOf(Groups(), std::move(rows), stacks, all, coverage);
}

// Of `rounds` fleets, those whose interval contains the truth.
double Held(std::size_t hosts, int rounds) {
  std::mt19937_64 random(hosts);
  int held = 0;
  for (int round = 0; round < rounds; ++round) {
    const v1::Profile profile = FleetOf(hosts, kTrueShare, random);
    const ShareError error(profile);
    EXPECT_TRUE(error.by_hosts());
    ErrorSum sum;
    std::uint64_t total = 0;
    for (int i = 0; i < profile.samples().node_size(); ++i) {
      total += profile.samples().weight_ns(i);
      const v1::StackNode& node = profile.nodes(static_cast<int>(profile.samples().node(i)) - 1);
      if (profile.frames(static_cast<int>(node.frame())).name() == "slow") error.Add(i, sum);
    }
    const auto interval = ShareInterval(sum, total);
    held += interval && interval->low <= kTrueShare && kTrueShare <= interval->high;
  }
  return static_cast<double>(held) / rounds;
}

TEST(HostError, IntervalsContainTheTruthInNinetyFiveOfAHundredFleets) {
  for (const std::size_t hosts : {4, 10, 16, 50}) {
    const double held = Held(hosts, 3'000);
    EXPECT_GT(held, 0.93) << hosts << " hosts";
    EXPECT_LT(held, 0.97) << hosts << " hosts";
  }
}

// Whether "slow" is more than chance in a comparison.
bool IsFound(std::size_t hosts, double a, double b, std::mt19937_64& random) {
  v1::Profile before = FleetOf(hosts, a, random);
  v1::Profile after = FleetOf(hosts, b, random);
  MeasureByHostTime(before);
  MeasureByHostTime(after);
  const Result<Diff> diff = Diff::Build(before, after, {});
  EXPECT_TRUE(diff);
  if (!diff) return false;
  const auto functions = DiffFunctions(*diff, KernelFunctions::kPartOfCaller);
  for (const DiffFunction& function : functions)
    if (function.name == "slow") return !IsNoise(function.total, {diff->scale, 1});
  return false;
}

TEST(HostError, EqualVersionsDifferInFiveOfAHundredComparisons) {
  std::mt19937_64 random(1);
  constexpr int kRounds = 1'000;
  int found = 0;
  for (int round = 0; round < kRounds; ++round) found += IsFound(12, 0.2, 0.2, random) ? 1 : 0;
  EXPECT_GT(found, kRounds * 3 / 100);
  EXPECT_LT(found, kRounds * 7 / 100);
}

TEST(HostError, ALargeChangeIsFound) {
  std::mt19937_64 random(2);
  int found = 0;
  for (int round = 0; round < 100; ++round) found += IsFound(12, 0.2, 0.3, random) ? 1 : 0;
  EXPECT_GT(found, 95);
}

TEST(HostError, OneHostHasNone) {
  std::mt19937_64 random(3);
  EXPECT_FALSE(ShareError(FleetOf(1, 0.2, random)).by_hosts());
}

TEST(HostError, SidesOfDifferentSizeAreComparedByHostTime) {
  std::mt19937_64 random(4);
  v1::Profile few = FleetOf(2, 0.2, random);
  v1::Profile many = FleetOf(20, 0.2, random);
  MeasureByHostTime(few);
  MeasureByHostTime(many);
  const Result<Diff> diff = Diff::Build(few, many, {});
  ASSERT_TRUE(diff);
  EXPECT_NEAR(diff->scale, 10, 1e-9);
  EXPECT_EQ(diff->a.total_ns, diff->b.total_ns);
}

}  // namespace
}  // namespace profd::client
