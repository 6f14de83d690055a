#include "daemon/aggregate/sample_edges.h"

#include <gtest/gtest.h>

#include "bpf/shared/control.h"
#include "bpf/shared/points.h"
#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

constexpr std::uint32_t kLevel = 23;
constexpr std::uint64_t kSeed = 12345;

// A thread that waits in f1 for 4 s, in f2 for 3 s, and in f1 again beyond the end of the session.
Profile ProfileOf(std::uint32_t mode, std::uint64_t seed) {
  ProfileBuilder builder(StartEvent(mode, std::uint64_t{1} << kLevel), {});
  wire::PeriodsEvent periods;
  periods.header.time_ns = kStartNs;
  periods.on_cpu_period_ns = periods.off_cpu_period_ns = std::uint64_t{1} << kLevel;
  periods.point_seed = seed;
  builder.SetEffectivePeriods(periods);
  SyntheticThread thread(kMain, kProcess, kStartNs);
  thread.Run(State::kBlocked, 4000 * kMs, 1);
  thread.Run(State::kBlocked, 3000 * kMs, 2);
  thread.Run(State::kBlocked, 9000 * kMs, 1);
  builder.AddClock(thread.ClockAt(1, kStartNs));
  const auto add = [&](std::uint64_t begin_ns, std::uint64_t ns, symbolize::FrameId frame) {
    symbolize::SymbolizedSample made;
    made.frames = {frame};
    made.sample.process = kProcess;
    made.sample.thread = kMain;
    made.sample.state = State::kBlocked;
    made.sample.begin_ns = begin_ns;
    made.sample.time_ns = begin_ns + ns;
    made.sample.period_ns = std::uint64_t{1} << kLevel;
    made.sample.blocked_points =
        static_cast<std::uint32_t>(profd_points_in(kSeed, kLevel, begin_ns, begin_ns + ns));
    builder.AddSample(made);
  };
  add(kStartNs, 4000 * kMs, 1);
  add(kStartNs + 4000 * kMs, 3000 * kMs, 2);
  builder.AddClock(thread.ClockAt(2, kEndNs));
  return builder.Build(EndEvent(), FrameOf);
}

TEST(SampleEdges, SampledWaitsHaveThemAndExactTimeHasNone) {
  const Profile profile = ProfileOf(3, kSeed);
  ASSERT_EQ(profile.samples.size(), 3u);
  const ProfileSample& first = profile.samples[0];
  const ProfileSample& second = profile.samples[1];
  EXPECT_EQ(LeafName(profile, first), "f1");
  EXPECT_EQ(LeafName(profile, second), "f2");
  EXPECT_EQ((first.edges >> kEdgeBits) ^ kEdgeMinus, second.edges & ((1u << kEdgeBits) - 1))
      << "the first ends where the second begins";
  EXPECT_NE(second.edges >> kEdgeBits, 0) << "the exact wait begins here";
  EXPECT_TRUE(profile.samples[2].exact);
  EXPECT_EQ(profile.samples[2].edges, 0);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_GT(profile.threads[0].edge_factors[static_cast<std::size_t>(State::kBlocked)], 0);
  EXPECT_EQ(profile.threads[0].edge_factors[static_cast<std::size_t>(State::kOnCpu)], 0);
}

TEST(SampleEdges, AreNotKnownWithoutCommonPointsAndInTheHistory) {
  for (const Profile& profile : {ProfileOf(3, 0), ProfileOf(3 | PROFD_SESSION_BACKGROUND, kSeed)}) {
    ASSERT_FALSE(profile.samples.empty());
    for (const ProfileSample& sample : profile.samples) EXPECT_EQ(sample.edges, 0);
  }
}

// A stack that is read at one point and found unchanged at three others, and then another one.
TEST(SampleEdges, StacksOfObserversHaveThem) {
  constexpr std::uint64_t kPeriodNs = std::uint64_t{1} << kLevel;
  ProfileBuilder builder(StartEvent(3 | PROFD_SESSION_OBSERVED, kPeriodNs), {});
  wire::PeriodsEvent periods;
  periods.header.time_ns = kStartNs;
  periods.on_cpu_period_ns = periods.off_cpu_period_ns = kPeriodNs;
  periods.point_seed = kSeed;
  builder.SetEffectivePeriods(periods);
  SyntheticThread thread(kMain, kProcess, kStartNs);
  thread.Run(State::kBlocked, 10'000 * kMs, 1);
  wire::Observation seen;
  const auto clock = [&](std::uint64_t epoch, std::uint64_t time_ns) {
    wire::ClockEvent event = thread.ClockAt(epoch, time_ns);
    event.observation = seen;
    builder.AddClock(event);
  };
  const auto read = [&](std::uint64_t time_ns, symbolize::FrameId frame) {
    ++seen.stack_number;
    symbolize::SymbolizedSample made;
    made.frames = {frame};
    made.sample.process = kProcess;
    made.sample.thread = kMain;
    made.sample.state = State::kBlocked;
    made.sample.time_ns = made.sample.begin_ns = time_ns;
    made.sample.period_ns = kPeriodNs;
    made.sample.observation = seen;
    builder.AddSample(made);
  };
  clock(1, kStartNs);
  const std::uint64_t first = (kStartNs >> kLevel) + 10;
  read(profd_point(kSeed, kLevel, first), 1);
  seen.held_ns += 3 * kPeriodNs;
  read(profd_point(kSeed, kLevel, first + 4), 2);
  clock(2, kEndNs);
  const Profile profile = builder.Build(EndEvent(), FrameOf);
  ASSERT_GE(profile.samples.size(), 2u);
  EXPECT_EQ(LeafName(profile, profile.samples[0]), "f1");
  EXPECT_EQ(profile.samples[0].count, 4u);
  EXPECT_EQ(LeafName(profile, profile.samples[1]), "f2");
  EXPECT_EQ(profile.samples[1].count, 1u);
  EXPECT_EQ((profile.samples[0].edges >> kEdgeBits) ^ kEdgeMinus,
            profile.samples[1].edges & ((1u << kEdgeBits) - 1))
      << "the first ends where the second begins";
  EXPECT_GT(profile.threads[0].edge_factors[static_cast<std::size_t>(State::kBlocked)], 0);
}

// What two threads of a group do together counts together, and each has an edge at either end.
TEST(SampleEdges, MembersOfAGroupHaveThemAtBothEndsOfTheirLives) {
  const auto profile_of = [](bool grouped) {
    Profile profile;
    profile.threads.resize(1);
    SampledThreads sampled;
    std::vector<SampledWait> waits;
    for (std::uint32_t member = 0; member < 2; ++member) {
      ProfileSample sample;
      sample.state = State::kBlocked;
      sample.count = 3;
      sample.node = 1;
      profile.samples.push_back(sample);
      sampled.threads.push_back({.key = {member + 1, 1},
                                 .begin_ns = std::uint64_t{100} << kLevel,
                                 .end_ns = std::uint64_t{103} << kLevel,
                                 .grouped = grouped});
      sampled.of_sample.push_back(member);
      waits.push_back({member, {.row = 0, .level = kLevel, .first = 100, .last = 102}});
    }
    FindEdges(profile, waits, sampled, kSeed);
    return profile;
  };
  const Profile group = profile_of(true);
  EXPECT_NE(group.samples[0].edges & ((1u << kEdgeBits) - 1), 0);
  EXPECT_NE(group.samples[0].edges >> kEdgeBits, 0);
  EXPECT_EQ(group.samples[0].edges, group.samples[1].edges);
  EXPECT_GT(group.threads[0].edge_factors[static_cast<std::size_t>(State::kBlocked)], 0);
  EXPECT_EQ(profile_of(false).samples[0].edges, 0) << "all of its life is in this stack";
}

}  // namespace
}  // namespace profd::aggregate
