#include "client/profile/threads/thread_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using Kind = ThreadAdvice::Kind;
using testing::Blocked;
using ::testing::IsEmpty;
using testing::ProfileMaker;
using testing::Running;

std::vector<ThreadAdvice> AdviceFor(const v1::Profile& profile) {
  return AdviceOf(profile, UseOfThreads(profile));
}

std::optional<ThreadAdvice> Find(const std::vector<ThreadAdvice>& all, Kind kind) {
  const auto found = std::ranges::find(all, kind, &ThreadAdvice::kind);
  return found == all.end() ? std::nullopt : std::optional(*found);
}

TEST(ThreadAdvice, EachHasItsNumberAndItsInterval) {
  const auto all = AdviceFor(testing::PoolProfile());
  const auto oversubscribed = Find(all, Kind::kOversubscribed);
  ASSERT_TRUE(oversubscribed);
  EXPECT_DOUBLE_EQ(oversubscribed->value, 0.4);
  EXPECT_EQ(oversubscribed->text,
            "up to 4 threads for 2 CPUs: at 40.0 % +-3.1 of the points more wanted one than there "
            "are; threads were runnable 44.4 % of the time that they wanted one");
  const auto throttled = Find(all, Kind::kThrottled);
  ASSERT_TRUE(throttled);
  EXPECT_EQ(throttled->text, "throttled by its cgroup in 12.0 % of 100 periods: cpu.max is 4 CPUs");
  EXPECT_EQ(throttled->interval.low, throttled->interval.high);
  const auto imbalance = Find(all, Kind::kImbalance);
  ASSERT_TRUE(imbalance);
  // 4 s, and 7 s of four threads.
  EXPECT_DOUBLE_EQ(imbalance->value, 4.0 / (7.0 / 4));
  EXPECT_LT(imbalance->interval.low, imbalance->value);
  EXPECT_GT(imbalance->interval.high, imbalance->value);
  EXPECT_TRUE(imbalance->text.starts_with("one of 4 threads pool-* has 2.1")) << imbalance->text;
  EXPECT_TRUE(imbalance->text.ends_with(" times the work of their mean: 4.00 s"))
      << imbalance->text;
}

TEST(ThreadAdvice, NamesThreadsThatShareACoreAndThoseThatMove) {
  const auto all = AdviceFor(testing::PlacedProfile());
  const auto shared = Find(all, Kind::kSharedCore);
  ASSERT_TRUE(shared);
  EXPECT_EQ(
      shared->text,
      "pool-0 and pool-1 of 3 threads pool-* share core 0: its other CPU was busy in ~100.0 % "
      "+-0.6 of their samples; on 2 cores none of them was seen");
  EXPECT_EQ(AdviceName(shared->kind), "shared_core");
  const auto moves = Find(all, Kind::kMoves);
  ASSERT_TRUE(moves);
  EXPECT_EQ(moves->text, "mover moves between NUMA nodes 40.0 times a second: pin it");
  EXPECT_EQ(moves->interval.low, 40);
  EXPECT_EQ(AdviceName(moves->kind), "moves");
}

TEST(ThreadAdvice, WithoutSpinningWorkIsExact) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "demo"), {"main"}, Blocked(v1::WAIT_LOCK, 10'000, 1'000));
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto thread = maker.AddThread(5'000 + i, "w" + std::to_string(i));
    const std::uint64_t ms = i == 0 ? 6'000 : 3'000;
    maker.Add(thread, {"f"}, Running(ms, 100));
    maker.Add(thread, {"g"}, Blocked(v1::WAIT_LOCK, 10'000 - ms, 100));
  }
  const auto all = AdviceFor(maker.Make());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, Kind::kImbalance);
  EXPECT_EQ(all[0].text, "one of 3 threads w* has 1.5 times the work of their mean: 6.00 s");
  EXPECT_EQ(all[0].interval.low, all[0].interval.high);
}

TEST(ThreadAdvice, WhatNumbersDoNotSupportIsNotSaid) {
  v1::Profile profile = testing::PoolProfile();
  v1::Process& process = *profile.mutable_processes(0);
  process.mutable_cpu_limits()->set_throttled_periods(4);
  // As many CPUs as threads.
  process.mutable_cpu_limits()->set_allowed_cpus(4);
  // Threads of different names are no pool.
  for (int i = 0; i < profile.threads_size(); ++i)
    profile.mutable_threads(i)->set_comm(std::string(static_cast<std::size_t>(i) + 1, 'x'));
  EXPECT_THAT(AdviceFor(profile), IsEmpty());
  EXPECT_THAT(AdviceFor(testing::SmallProfile()), IsEmpty());
  EXPECT_THAT(AdviceFor(testing::EmptyProfile()), IsEmpty());
}

TEST(ThreadAdvice, FewPointsSupportNothing) {
  v1::Profile profile = testing::PoolProfile();
  v1::Concurrency& concurrency = *profile.mutable_processes(0)->mutable_concurrency();
  concurrency.clear_levels();
  v1::Concurrency::Level& none = *concurrency.add_levels();
  none.set_running(4);
  none.set_wanting(3);
  v1::Concurrency::Level& many = *concurrency.add_levels();
  many.set_threads(4);
  many.set_wanting(1);
  EXPECT_FALSE(Find(AdviceFor(profile), Kind::kOversubscribed));
}

TEST(ThreadAdvice, APoolThatHardlyWorksIsNotUneven) {
  ProfileMaker maker;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto thread = maker.AddThread(5'000 + i, "w" + std::to_string(i));
    maker.Add(thread, {"f"}, Running(i == 0 ? 400 : 1, 40));
    maker.Add(thread, {"g"}, Blocked(v1::WAIT_LOCK, i == 0 ? 9'600 : 9'999, 100));
  }
  EXPECT_THAT(AdviceFor(maker.Make()), IsEmpty());
}

TEST(ThreadAdvice, ThreadsThatLivedForAMomentAreNoMeasure) {
  ProfileMaker maker;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto thread = maker.AddThread(5'000 + i, "w" + std::to_string(i));
    maker.Add(thread, {"f"}, Running(i == 0 ? 5'000 : 10, 40));
    if (i == 0) maker.Add(thread, {"g"}, Blocked(v1::WAIT_LOCK, 5'000, 100));
  }
  EXPECT_THAT(AdviceFor(maker.Make()), IsEmpty());
}

TEST(ThreadAdvice, SpinningIsSaidWithItsFunction) {
  v1::Profile profile = testing::SampledProfile();
  v1::Rule& rule = *profile.add_rules();
  rule.set_frame_class(v1::CLASS_SPIN);
  v1::Samples& samples = *profile.mutable_samples();
  samples.clear_rule();
  samples.clear_rule_node();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    samples.set_state(i, v1::STATE_ON_CPU);
    samples.add_rule(i == 0 ? 1 : 0);
    samples.add_rule_node(i == 0 ? samples.node(i) : 0);
  }
  const auto spinning = Find(AdviceFor(profile), Kind::kSpinning);
  ASSERT_TRUE(spinning);
  EXPECT_DOUBLE_EQ(spinning->value, 0.6);
  EXPECT_LT(spinning->interval.low, spinning->value);
  EXPECT_TRUE(spinning->text.starts_with("60.0 % +-")) << spinning->text;
  EXPECT_TRUE(spinning->text.ends_with(" of its time on CPUs is spinning, most of it in read"))
      << spinning->text;
}

TEST(ThreadAdvice, KindsHaveNames) {
  EXPECT_EQ(AdviceName(Kind::kOversubscribed), "oversubscribed");
  EXPECT_EQ(AdviceName(Kind::kImbalance), "imbalance");
  EXPECT_EQ(AdviceName(Kind::kThrottled), "throttled");
  EXPECT_EQ(AdviceName(Kind::kSpinning), "spinning");
}

}  // namespace
}  // namespace profd::client
