// Sums of hardware counters: what belongs to which thread, and what of it is scaled or left out.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "tests/bpf_user/bpf_as_user.h"

namespace profd {
namespace {

constexpr std::uint64_t kAll =
    1u << PROFD_PMU_CYCLES | 1u << PROFD_PMU_INSTRUCTIONS | 1u << PROFD_PMU_CACHE_MISSES;
constexpr std::uint64_t kTask = 0xffff'8880'0000'1000;
constexpr std::uint64_t kOther = 0xffff'8880'0000'2000;

class PmuTest : public testing::Test {
 protected:
  PmuTest() {
    user_reset();
    user_control()->pmu_counters = kAll;
    user_control()->pmu_generation = 1;
    user_set_pmu(now_, values_.data(), 0);
  }

  // All counters run `ns` on, with this many cycles, instructions and misses. `running`: the part
  // of it in which they count.
  void Pass(std::uint64_t ns, const std::array<std::uint64_t, 3>& counts, double running = 1) {
    now_ += ns;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i].counter += counts.at(i);
      values_[i].enabled += ns;
      values_[i].running += static_cast<std::uint64_t>(static_cast<double>(ns) * running);
    }
    user_set_pmu(now_, values_.data(), 0);
  }
  void Come(std::uint64_t task = kTask) { user_counted_comes(task); }
  bool Leave(std::uint64_t task = kTask) {
    return user_counted_leaves(thread_.get(), task, &counted_) != 0;
  }
  [[nodiscard]] profd_pmu_event Sums() const { return user_read_sums_of(thread_.get()); }

  struct Free {
    void operator()(user_pmu_thread* thread) const { user_pmu_thread_free(thread); }
  };
  std::unique_ptr<user_pmu_thread, Free> thread_{user_pmu_thread_new()};
  std::array<user_counter_value, PROFD_PMU_COUNTERS> values_{};
  std::uint64_t now_ = 1'000;
  profd_pmu_counts counted_{};
};

TEST_F(PmuTest, WhatIsCountedBetweenItsReadingsIsTheThreads) {
  Pass(50, {500, 900, 7});  // of others
  Come();
  Pass(100, {300, 600, 2});
  EXPECT_TRUE(Leave());
  EXPECT_EQ(counted_.counted_ns, 100u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_CYCLES], 300u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_INSTRUCTIONS], 600u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_CACHE_MISSES], 2u);
  Pass(40, {1, 1, 1});  // of others
  Come();
  Pass(10, {30, 60, 1});
  EXPECT_TRUE(Leave());
  const profd_pmu_event sums = Sums();
  EXPECT_EQ(sums.final.counted_ns, 110u);
  EXPECT_EQ(sums.final.counts[PROFD_PMU_CYCLES], 330u);
  EXPECT_EQ(sums.final.counts[PROFD_PMU_INSTRUCTIONS], 660u);
  EXPECT_EQ(sums.final.counts[PROFD_PMU_CACHE_MISSES], 3u);
}

TEST_F(PmuTest, ASampleInBetweenLosesNothing) {
  Come();
  Pass(100, {300, 600, 2});
  EXPECT_TRUE(Leave());
  Come();
  Pass(20, {60, 120, 1});
  EXPECT_TRUE(Leave());
  EXPECT_EQ(counted_.counts[PROFD_PMU_CYCLES], 60u);
  EXPECT_EQ(Sums().final.counts[PROFD_PMU_CYCLES], 360u);
}

TEST_F(PmuTest, WithoutItsOwnReadingBeforeNothingIsAThreads) {
  Pass(100, {300, 600, 2});
  EXPECT_FALSE(Leave()) << "no member has come";
  Come(kOther);
  Pass(100, {300, 600, 2});
  EXPECT_FALSE(Leave()) << "another one has";
  Come();
  user_control()->pmu_generation = 2;
  Pass(100, {300, 600, 2});
  EXPECT_FALSE(Leave()) << "the counters were opened once more";
  Come();
  Pass(100, {300, 600, 2});
  EXPECT_TRUE(Leave());
  EXPECT_FALSE(Leave()) << "it has left";
  EXPECT_EQ(Sums().final.counted_ns, 100u);
}

TEST_F(PmuTest, CountersThatCountForAPartOfTheTimeAreScaled) {
  Come();
  Pass(1'000, {1'000'000, 500, 2}, 0.5);
  EXPECT_TRUE(Leave());
  EXPECT_EQ(counted_.counted_ns, 1'000u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_CYCLES], 2'000'000u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_INSTRUCTIONS], 1'000u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_CACHE_MISSES], 4u);
  EXPECT_EQ(user_counter(PROFD_COUNTER_PMU_SHARED), 1u);
}

TEST_F(PmuTest, CountersThatHardlyCountAreLeftOut) {
  for (const double running : {0.0, 0.001}) {
    Come();
    Pass(1'000'000, {10, 10, 10}, running);
    EXPECT_FALSE(Leave());
  }
  EXPECT_EQ(Sums().final.counted_ns, 0u);
  EXPECT_EQ(user_counter(PROFD_COUNTER_PMU_NOT_COUNTED), 2u);
}

TEST_F(PmuTest, ACounterThatTheHostLacksCountsNothing) {
  user_control()->pmu_counters = 1u << PROFD_PMU_INSTRUCTIONS;
  Come();
  Pass(100, {300, 600, 2});
  EXPECT_TRUE(Leave());
  EXPECT_EQ(counted_.counts[PROFD_PMU_CYCLES], 0u);
  EXPECT_EQ(counted_.counts[PROFD_PMU_INSTRUCTIONS], 600u);
}

TEST_F(PmuTest, CountersThatCannotBeReadEndASpan) {
  Come();
  user_set_pmu(now_, values_.data(), 1);
  EXPECT_FALSE(Leave());
  Come();
  Pass(100, {300, 600, 2});
  EXPECT_FALSE(Leave()) << "they could not be read when it came";
}

TEST_F(PmuTest, AProgramThatInterruptsAReadingReadsNothing) {
  Come();
  Pass(100, {300, 600, 2});
  user_hold_pmu(1);
  EXPECT_FALSE(Leave());
  Come();
  user_hold_pmu(0);
  Pass(10, {30, 60, 1});
  EXPECT_TRUE(Leave());
  EXPECT_EQ(counted_.counted_ns, 110u) << "the span of the interrupted program";
}

TEST_F(PmuTest, ASpanBelongsToWhereItEnds) {
  Come();
  Pass(100, {300, 600, 2});
  EXPECT_TRUE(Leave());
  user_control()->epoch_ns = now_ + 50;
  user_control()->epoch = 7;
  EXPECT_EQ(Sums().at_epoch.counted_ns, 100u) << "nothing was added since";
  Come();
  Pass(100, {30, 60, 1});
  EXPECT_TRUE(Leave());
  Come();
  Pass(100, {1, 1, 1});
  EXPECT_TRUE(Leave());
  const profd_pmu_event sums = Sums();
  EXPECT_EQ(sums.at_epoch.counted_ns, 100u);
  EXPECT_EQ(sums.at_epoch.counts[PROFD_PMU_CYCLES], 300u);
  EXPECT_EQ(sums.final.counted_ns, 300u);
  EXPECT_EQ(sums.final.counts[PROFD_PMU_CYCLES], 331u);
}

}  // namespace
}  // namespace profd
