#include "client/profile/threads/thread_use.h"

#include <gtest/gtest.h>

#include "client/profile/profile_facts.h"
#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(ThreadUse, PartsAddUpToTheTimeOfTheThread) {
  const v1::Profile profile = testing::PoolProfile();
  const auto uses = UseOfThreads(profile);
  ASSERT_EQ(uses.size(), 6u);
  for (const ThreadUse& use : uses) {
    EXPECT_EQ(use.time.all().ns, use.elapsed_ns);
    EXPECT_EQ(use.woken_ns + use.preempted_ns, use.time[TimePart::kRunnable].ns);
    std::uint64_t blocked = 0;
    for (const BlockedTime& wait : use.waits) blocked += wait.time.ns;
    EXPECT_EQ(blocked, use.time[TimePart::kBlocked].ns);
  }
  EXPECT_EQ(uses[2].running_ns(), 2'000 * kMs);
  EXPECT_EQ(uses[2].time[TimePart::kSpinning].ns, 1'000 * kMs);
  EXPECT_EQ(uses[2].wanted_ns(), 4'000 * kMs);
  EXPECT_EQ(uses[2].preempted_ns, 500 * kMs);
  EXPECT_EQ(uses[2].waits[0].reason, v1::WAIT_LOCK);
  EXPECT_EQ(uses[2].waits[1].reason, v1::WAIT_IO);
  EXPECT_EQ(uses[2].voluntary, 1'234u);
  EXPECT_EQ(uses[2].involuntary, 567u);
  EXPECT_EQ(uses[2].migrations, 25u);
  EXPECT_EQ(uses[2].cpus, (std::vector<std::uint32_t>{0, 1}));
}

TEST(ThreadUse, ProcessesAreSumsOfTheirThreads) {
  const v1::Profile profile = testing::PoolProfile();
  const auto uses = UseOfProcesses(profile, UseOfThreads(profile));
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].threads, 5u);
  EXPECT_EQ(uses[0].elapsed_ns, 50'000 * kMs);
  EXPECT_EQ(uses[0].time.all().ns, uses[0].elapsed_ns);
  EXPECT_EQ(uses[0].running_ns(), 10'000 * kMs);
  EXPECT_EQ(uses[0].migrations, 100u);
  EXPECT_EQ(uses[0].waits[0].reason, v1::WAIT_LOCK);
  EXPECT_EQ(uses[0].waits[0].time.ns, 31'960 * kMs);
  EXPECT_EQ(uses[1].threads, 1u);
}

TEST(ThreadUse, CpusOfASumAreThoseOfAll) {
  ThreadUse sum;
  sum.cpus = {1, 5};
  ThreadUse other;
  other.cpus = {0, 5, 7};
  sum += other;
  EXPECT_EQ(sum.cpus, (std::vector<std::uint32_t>{0, 1, 5, 7}));
}

TEST(UsableCpus, TheLowestLimitCounts) {
  v1::Profile profile = testing::PoolProfile();
  v1::Process& process = *profile.mutable_processes(0);
  UsableCpus usable = UsableBy(profile, process);
  EXPECT_EQ(usable.cpus, 2);
  EXPECT_EQ(usable.by, UsableCpus::By::kAffinity);
  process.mutable_cpu_limits()->set_quota_cpus(1.5);
  usable = UsableBy(profile, process);
  EXPECT_EQ(usable.cpus, 1.5);
  EXPECT_EQ(usable.by, UsableCpus::By::kQuota);
  process.clear_cpu_limits();
  usable = UsableBy(profile, process);
  EXPECT_EQ(usable.cpus, 8);
  EXPECT_EQ(usable.by, UsableCpus::By::kHost);
  profile.set_cpus(0);
  EXPECT_EQ(UsableBy(profile, process).by, UsableCpus::By::kUnknown);
  profile.set_cpus(8);
  process.set_group_size(2);
  EXPECT_EQ(UsableBy(profile, process).by, UsableCpus::By::kUnknown);
}

TEST(UsableCpus, OnlyWorkIsEffectiveUse) {
  const v1::Profile profile = testing::PoolProfile();
  const auto uses = UseOfProcesses(profile, UseOfThreads(profile));
  // 7 of 10 s on CPUs are work, of 20 s of two CPUs.
  EXPECT_DOUBLE_EQ(
      EffectiveUse(uses[0], UsableBy(profile, profile.processes(0)), LengthNs(profile)), 0.35);
  EXPECT_EQ(EffectiveUse(uses[0], {}, LengthNs(profile)), 0);
}

}  // namespace
}  // namespace profd::client
