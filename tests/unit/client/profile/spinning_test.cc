#include "client/profile/spinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/profile/check_profile.h"
#include "client/profile/profile_parts.h"
#include "client/profile/stack_names.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;

constexpr std::uint64_t kMs = 1'000'000;

TEST(Spinning, IsTimeOnACpuThatAWaitingRuleDecides) {
  testing::ProfileMaker maker;
  const auto spin = maker.AddRule(v1::CLASS_SPIN, "wait");
  const auto gpu = maker.AddRule(v1::CLASS_GPU_WAIT, "sync");
  const auto runtime = maker.AddRule(v1::CLASS_RUNTIME, "malloc");
  const auto thread = maker.AddThread(1, "t");
  for (const std::uint32_t rule : {0u, spin, gpu, runtime})
    maker.Add(thread, {"f"}, {.rule = rule});
  maker.Add(thread, {"f"}, {.state = v1::STATE_RUNNABLE, .rule = spin});
  const v1::Profile profile = maker.Make();
  std::vector<bool> spins;
  std::vector<std::string_view> names;
  for (int i = 0; i < 5; ++i) {
    spins.push_back(IsSpinning(profile, i));
    names.push_back(StateFrameName(profile, i));
  }
  EXPECT_THAT(spins, ElementsAre(false, true, true, false, false));
  EXPECT_THAT(names,
              ElementsAre("[working]", "[spinning]", "[spinning]", "[working]", "[runnable]"));
  EXPECT_EQ(RuleOf(profile, 0), nullptr);
  EXPECT_EQ(RuleOf(profile, 3)->function(), "malloc");
}

TEST(Spinning, WithoutRulesAllTimeOnACpuIsWorking) {
  const v1::Profile profile = testing::SmallProfile();
  for (const SpinningTime& time : SpinningOfThreads(profile)) EXPECT_EQ(time.ns, 0u);
  EXPECT_EQ(RuleOf(profile, 0), nullptr);
  EXPECT_TRUE(RuleTimes(profile).empty());
}

TEST(Spinning, AddsUpByThread) {
  const auto times = SpinningOfThreads(testing::SpinningProfile());
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].ns, 400 * kMs);
  EXPECT_EQ(times[0].points, 40u);
  EXPECT_EQ(times[1].ns, 0u);
}

TEST(Spinning, IsShownFromHalfAPercentOn) {
  EXPECT_FALSE(IsShown(SpinningTime{5, 1}, 1000));
  EXPECT_TRUE(IsShown(SpinningTime{6, 1}, 1000));
  EXPECT_EQ(FormatSpinning({6, 9}, 1000), "~0.6 %");
  EXPECT_EQ(FormatSpinning({60, 10}, 1000), "6.0 %");
  EXPECT_EQ(FormatSpinning({}, 1000), "0.0 %");
  EXPECT_EQ(WorkingNs(10, {4, 1}), 6u);
  EXPECT_EQ(WorkingNs(10, {11, 1}), 0u) << "weights of a file may be anything";
}

TEST(Spinning, RulesHaveTheTimeThatTheyDecided) {
  const auto times = RuleTimes(testing::SpinningProfile());
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].ns, 300 * kMs);
  EXPECT_EQ(times[0].text, "spin: function 'gomp_.*' (rules.toml:1)");
  EXPECT_EQ(times[1].text, "gpu-wait: function 'cuda.*' (rules.toml:2)");
  EXPECT_EQ(times[2].ns, 50 * kMs);
  v1::Profile profile = testing::SpinningProfile();
  v1::Rule& rule = *profile.mutable_rules(0);
  rule.set_function("");
  rule.set_module("lib\x1b.so");
  rule.set_file("x");
  rule.set_leaf(true);
  EXPECT_EQ(RuleTimes(profile)[0].text,
            "spin: function '', module 'lib?.so', file 'x', leaf (rules.toml:1)");
}

TEST(Spinning, PartsOfAProfileKeepTheirRules) {
  const v1::Profile profile = testing::SpinningProfile();
  ThreadFilter filter;
  filter.tid = 4242;
  const auto only = OnlyThreads(profile, filter);
  ASSERT_TRUE(only);
  EXPECT_TRUE(CheckProfile(*only));
  EXPECT_EQ(SpinningOfThreads(*only)[0].ns, 400 * kMs);
}

}  // namespace
}  // namespace profd::client
