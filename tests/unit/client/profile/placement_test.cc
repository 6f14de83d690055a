#include "client/profile/threads/placement.h"

#include <gtest/gtest.h>

#include "client/profile/threads/placement_advice.h"
#include "client/profile/threads/thread_use.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;

TEST(CpuMap, CountsWhatTheHostHas) {
  const v1::Profile profile = testing::PlacedProfile();
  const CpuMap cpus(profile);
  EXPECT_TRUE(cpus.known());
  EXPECT_EQ(cpus.cores(), 4u);
  EXPECT_EQ(cpus.caches(), 2u);
  EXPECT_EQ(cpus.nodes(), 2u);
  EXPECT_TRUE(cpus.has_siblings());
  EXPECT_EQ(cpus.CoreOf(5), 1u);
  EXPECT_EQ(cpus.NodeOf(6), 1u);
  EXPECT_EQ(cpus.CpusOf(1), (std::vector<std::uint32_t>{1, 5}));
  EXPECT_FALSE(cpus.CoreOf(8));
  EXPECT_TRUE(cpus.CpusOf(5).empty());
  EXPECT_FALSE(CpuMap(testing::PoolProfile()).known());
}

TEST(Placement, IsThatOfTheSamples) {
  const v1::Profile profile = testing::PlacedProfile();
  const auto uses = UseOfThreads(profile);
  const Placement& first = uses[1].placement;
  EXPECT_EQ(first.points, (std::map<std::uint32_t, std::uint64_t>{{0, 400}}));
  EXPECT_EQ(first.nodes, (std::map<std::uint32_t, std::uint64_t>{{0, 4 * kSecondNs}}));
  EXPECT_EQ(BusyShare(first), 1);
  ASSERT_TRUE(first.moves);
  EXPECT_EQ(first.moves->node, 0u);
  const Placement& mover = uses[4].placement;
  EXPECT_EQ(mover.nodes.size(), 2u);
  EXPECT_EQ(mover.moves->core, 500u);
  EXPECT_EQ(mover.moves->node, 400u);
  EXPECT_EQ(BusyShare(mover), 0);
  EXPECT_FALSE(BusyShare(uses[0].placement)) << "it never ran";
}

TEST(Placement, AddsUp) {
  const v1::Profile profile = testing::PlacedProfile();
  const auto sums = UseOfProcesses(profile, UseOfThreads(profile));
  ASSERT_TRUE(sums[0].placement.moves);
  EXPECT_EQ(sums[0].placement.moves->core, 500u);
  EXPECT_EQ(sums[0].placement.sibling_points, 1'000u);
  EXPECT_EQ(sums[0].placement.busy_points, 600u);
  // A thread without them makes the sum unknown, in whatever order they come.
  v1::Profile partly = profile;
  partly.mutable_threads(2)->mutable_clock()->clear_core_migrations();
  EXPECT_FALSE(UseOfProcesses(partly, UseOfThreads(partly))[0].placement.moves);
}

TEST(Placement, SaysWhatIsMissing) {
  v1::Profile profile = testing::PlacedProfile();
  EXPECT_EQ(NoPlacementText(profile), "");
  profile.set_hook("none: snapshots");
  EXPECT_EQ(NoPlacementText(profile), "in snapshot mode migrations have no distances");
  profile.set_hook("");
  for (v1::CpuPlace& place : *profile.mutable_cpu_places()) {
    place.set_node(0);
    place.set_core(place.cpu());
    place.clear_cache();
  }
  EXPECT_EQ(NoPlacementText(profile),
            "this host: one NUMA node, caches are not known, no core with two CPUs");
  profile.clear_cpu_places();
  EXPECT_EQ(NoPlacementText(profile), "not known which CPUs share a core, a cache or a NUMA node");
}

TEST(PlacementAdvice, TwoThreadsOfAPoolShareACore) {
  const v1::Profile profile = testing::PlacedProfile();
  const auto uses = UseOfThreads(profile);
  const auto shared = FindSharedCore(CpuMap(profile), uses, {1, 2, 3});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->first, 1u);
  EXPECT_EQ(shared->second, 2u);
  EXPECT_EQ(shared->core, 0u);
  EXPECT_GT(shared->interval.low, 0.9);
  EXPECT_EQ(shared->free_cores, 2u);
  EXPECT_FALSE(FindSharedCore(CpuMap(profile), uses, {1, 3})) << "on two cores";
}

TEST(PlacementAdvice, WhatIsRareOrCannotBeChangedIsNotSaid) {
  v1::Profile profile = testing::PlacedProfile();
  for (auto& sibling : *profile.mutable_samples()->mutable_sibling())
    if (sibling == v1::SIBLING_BUSY) sibling = v1::SIBLING_IDLE;
  EXPECT_FALSE(FindSharedCore(CpuMap(profile), UseOfThreads(profile), {1, 2, 3}));
  profile = testing::PlacedProfile();
  // A host of the two cores that they use.
  v1::Profile small = profile;
  small.clear_cpu_places();
  for (const v1::CpuPlace& place : profile.cpu_places())
    if (place.core() < 2) *small.add_cpu_places() = place;
  EXPECT_FALSE(FindSharedCore(CpuMap(small), UseOfThreads(small), {1, 2, 3}));
}

TEST(PlacementAdvice, OnlyFrequentMovesOfThreadsThatRunCount) {
  v1::Profile profile = testing::PlacedProfile();
  const auto moves = FindMoves(UseOfThreads(profile), {1, 2, 3, 4});
  ASSERT_TRUE(moves);
  EXPECT_EQ(moves->threads, 1u);
  EXPECT_EQ(moves->busiest, 4u);
  EXPECT_DOUBLE_EQ(moves->per_second, 40);
  EXPECT_TRUE(moves->nodes);
  v1::ThreadClock& clock = *profile.mutable_threads(4)->mutable_clock();
  clock.set_node_migrations(99);  // 9.9 a second
  clock.set_cache_migrations(501);
  const auto caches = FindMoves(UseOfThreads(profile), {4});
  ASSERT_TRUE(caches);
  EXPECT_FALSE(caches->nodes);
  clock.set_cache_migrations(99);
  EXPECT_FALSE(FindMoves(UseOfThreads(profile), {4}));
  clock.clear_core_migrations();
  EXPECT_FALSE(FindMoves(UseOfThreads(profile), {4})) << "not counted";
}

}  // namespace
}  // namespace profd::client
