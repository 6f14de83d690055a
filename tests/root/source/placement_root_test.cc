// Where threads run: migrations by distance and what the other CPU of a core does, by what this
// machine says of its CPUs. With two nodes and two CPUs a core: scripts/vm --two-nodes.
#include <sched.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/source/perf/cpu_places.h"
#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

void RunOn(std::uint32_t cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  if (::sched_setaffinity(0, sizeof(one), &one) != 0) std::abort();
}

class PlacementTest : public LiveTest {
 protected:
  struct Counts {
    std::uint64_t migrations = 0;
    profd_moves moves{};
  };

  // What the clock of a thread counts that goes to and fro `times` times.
  Counts Move(const CpuPlace& from, const CpuPlace& to, int times) {
    Counts counts;
    Puppet puppet([&](const Puppet::Strings& strings) {
      RunOn(from.cpu);
      strings.Wait();
      for (int i = 0; i < times; ++i) {
        RunOn(to.cpu);
        RunOn(from.cpu);
      }
      strings.Say({1});
      strings.Wait();
    });
    puppet.AwaitState('S');
    const auto session = live_->Begin(SpecOf(puppet));
    puppet.Go();
    EXPECT_EQ(puppet.Hear(1)[0], 1u);
    puppet.AwaitState('S');
    const Heard heard = live_->End(session);
    const auto start = heard.AtStart(puppet.pid());
    const auto end = heard.AtEnd(puppet.pid());
    EXPECT_TRUE(start && end && start->moves && end->moves);
    if (!start || !end || !start->moves || !end->moves) return counts;
    counts.migrations = Growth(start->at_epoch, end->at_epoch).migrations;
    const profd_moves& before = start->moves->at_epoch;
    const profd_moves& after = end->moves->at_epoch;
    counts.moves = {after.core - before.core, after.cache - before.cache, after.node - before.node};
    return counts;
  }

  // The on-CPU samples of a thread that spins on this CPU.
  std::vector<wire::StackEvent> SamplesOn(std::uint32_t cpu) {
    Puppet puppet([&](const Puppet::Strings& strings) {
      RunOn(cpu);
      strings.Wait();
      Spin(500 * kMs);
      strings.Say({1});
      strings.Wait();
    });
    puppet.AwaitState('S');
    const auto session = live_->Begin(SpecOf(puppet));
    puppet.Go();
    EXPECT_EQ(puppet.Hear(1)[0], 1u);
    const Heard heard = live_->End(session);
    return heard.Stacks(puppet.pid(), wire::SampleOrigin::kOnCpu);
  }

  static std::size_t Flagged(const std::vector<wire::StackEvent>& stacks, std::uint16_t flag) {
    return static_cast<std::size_t>(std::ranges::count_if(
        stacks, [&](const wire::StackEvent& stack) { return (stack.flags & flag) != 0; }));
  }

  const std::vector<CpuPlace> places_ = ReadCpuPlaces();
};

TEST_F(PlacementTest, MigrationsAreCountedByTheirDistance) {
  if (places_.size() < 2) GTEST_SKIP() << "needs two CPUs whose places are known";
  constexpr int kTimes = 50;
  const CpuPlace& first = places_.front();
  for (const CpuPlace& other : places_) {
    if (other.cpu == first.cpu) continue;
    const Counts counts = Move(first, other, kTimes);
    const auto expected = [&](bool apart) { return apart ? 2u * kTimes : 0u; };
    const std::string what = "between CPUs 0 and " + std::to_string(other.cpu);
    EXPECT_EQ(counts.migrations, 2u * kTimes) << what;
    EXPECT_EQ(counts.moves.core, expected(other.core != first.core)) << what;
    EXPECT_EQ(counts.moves.cache, expected(other.cache != first.cache)) << what;
    EXPECT_EQ(counts.moves.node, expected(other.node != first.node)) << what;
  }
}

TEST_F(PlacementTest, AThreadDoesNotMoveWhereItsClockBegins) {
  if (places_.size() < 2) GTEST_SKIP() << "needs two CPUs";
  EXPECT_EQ(Move(places_.back(), places_.back(), 10).migrations, 0u);
}

std::optional<CpuPlace> SiblingOf(const CpuPlace& place, const std::vector<CpuPlace>& places) {
  for (const CpuPlace& other : places)
    if (other.core == place.core && other.cpu != place.cpu) return other;
  return std::nullopt;
}

TEST_F(PlacementTest, SamplesSayWhetherTheOtherCpuOfTheCoreIsBusy) {
  for (const CpuPlace& place : places_) {
    const auto sibling = SiblingOf(place, places_);
    if (!sibling) continue;
    Puppet spinner([&](const Puppet::Strings& strings) {
      RunOn(sibling->cpu);
      strings.Say({1});
      Spin(3'600'000 * kMs);
    });
    EXPECT_EQ(spinner.Hear(1)[0], 1u);
    const auto busy = SamplesOn(place.cpu);
    // Whatever displaces the spinner, the CPU is never idle.
    EXPECT_GT(busy.size(), 0u);
    EXPECT_EQ(Flagged(busy, PROFD_SAMPLE_SIBLING_BUSY), busy.size());
    EXPECT_EQ(Flagged(busy, PROFD_SAMPLE_SIBLING_IDLE), 0u);
    return;
  }
  GTEST_SKIP() << "no core of this machine has two CPUs";
}

TEST_F(PlacementTest, WithoutASpinnerTheOtherCpuIsIdleAtTimes) {
  for (const CpuPlace& place : places_) {
    if (!SiblingOf(place, places_)) continue;
    const auto idle = SamplesOn(place.cpu);
    EXPECT_GT(idle.size(), 0u);
    EXPECT_GT(Flagged(idle, PROFD_SAMPLE_SIBLING_IDLE), 0u);
    EXPECT_EQ(Flagged(idle, PROFD_SAMPLE_SIBLING_IDLE | PROFD_SAMPLE_SIBLING_BUSY), idle.size());
    return;
  }
  GTEST_SKIP() << "no core of this machine has two CPUs";
}

TEST_F(PlacementTest, OfACoreWithOneCpuNothingIsSaid) {
  for (const CpuPlace& place : places_) {
    if (SiblingOf(place, places_)) continue;
    const auto stacks = SamplesOn(place.cpu);
    EXPECT_GT(stacks.size(), 0u);
    EXPECT_EQ(Flagged(stacks, PROFD_SAMPLE_SIBLING_IDLE | PROFD_SAMPLE_SIBLING_BUSY), 0u);
    return;
  }
  GTEST_SKIP() << "each core of this machine has two CPUs";
}

}  // namespace
}  // namespace profd::source
