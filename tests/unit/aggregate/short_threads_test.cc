// Threads that can expect few samples: which of them become groups, and what their stacks weigh.
#include "bpf/shared/points.h"
#include "daemon/aggregate/weights/sampling_error.h"
#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kBorn = kStartNs + 20 * kMs;
constexpr std::uint32_t kHistory = 3 | PROFD_SESSION_BACKGROUND;

// From its fork to its exit, with its samples.
void AddWholeLife(ProfileBuilder& builder, const SyntheticThread& thread, std::uint64_t begin_ns,
                  std::mt19937_64& random, std::uint64_t period_ns = kPeriodNs) {
  wire::ForkEvent fork;
  fork.header = thread.Header(begin_ns);
  builder.AddFork(fork);
  for (const auto& sample : thread.Samples(period_ns, random)) builder.AddSample(sample);
  wire::ExitEvent exit;
  exit.header = thread.Header(thread.end_ns());
  exit.last_thread = exit.header.thread.tid == exit.header.process.pid;
  builder.AddExit(exit);
  builder.AddClock(thread.EndEvent());
}

// The group sizes of two threads of process 100 that begin and end in the session.
class ShortThreads : public testing::Test {
 protected:
  // Each is on a CPU, then it waits.
  std::vector<std::uint32_t> SizesOf(std::uint64_t on_cpu_ns, std::uint64_t waits_ns,
                                     const wire::SessionEvent& start = StartEvent()) {
    ProfileBuilder builder(start, {});
    for (std::uint32_t i = 0; i < 2; ++i) {
      SyntheticThread thread({1'000 + i, 1}, kProcess, kBorn);
      thread.Run(State::kOnCpu, on_cpu_ns, 1);
      if (waits_ns != 0) thread.Run(State::kBlocked, waits_ns, 2);
      AddWholeLife(builder, thread, kBorn, random_);
    }
    return SizesOf(builder.Build(EndEvent(), FrameOf));
  }
  static std::vector<std::uint32_t> SizesOf(const Profile& profile) {
    std::vector<std::uint32_t> sizes;
    for (const ProfileThread& thread : profile.threads) sizes.push_back(thread.group_size);
    return sizes;
  }

  std::mt19937_64 random_{9};
};

const std::vector<std::uint32_t> kOneGroup{2};
const std::vector<std::uint32_t> kApart{0, 0};

// Threads of 4 ms at a period of 10 ms: a third of them has a sample. 31.5 % of their time is in
// f1.
TEST_F(ShortThreads, ThatAreShorterThanAPeriodAreScaledTogether) {
  constexpr std::uint32_t kThreads = 400;
  constexpr int kRounds = 50;
  for (const std::uint32_t mode : {3u, kHistory}) {
    double share = 0;
    for (int round = 0; round < kRounds; ++round) {
      ProfileBuilder builder(StartEvent(mode), {});
      for (std::uint32_t i = 0; i < kThreads; ++i) {
        SyntheticThread thread({1'000 + i, 1}, kProcess, kStartNs + (20 + 20 * i) * kMs);
        thread.Run(State::kOnCpu, 1'260'000, 1);
        thread.Run(State::kOnCpu, 2'740'000, 2);
        AddWholeLife(builder, thread, kStartNs + (20 + 20 * i) * kMs, random_);
      }
      const Profile profile = builder.Build(EndEvent(), FrameOf);
      ASSERT_EQ(profile.threads.size(), 1u);
      const ProfileThread& group = profile.threads[0];
      EXPECT_EQ(group.group_size, kThreads);
      EXPECT_EQ(group.clock.on_cpu_ns, kThreads * 4 * kMs);
      EXPECT_EQ(ClosureError(group), 0.0);
      auto weights = Weights(profile, 0, State::kOnCpu);
      EXPECT_EQ(weights.size(), 2u) << "no time without a sample";
      EXPECT_EQ(Total(weights), kThreads * 4 * kMs);
      share += static_cast<double>(weights["f1"]) / static_cast<double>(Total(weights)) / kRounds;
    }
    // Each round has some 160 samples: a binomial share, of which 5 standard deviations are
    // allowed.
    EXPECT_NEAR(share, 0.315, 5 * std::sqrt(0.315 * 0.685 / (160.0 * kRounds)));
  }
}

TEST_F(ShortThreads, HaveTheRightSharesWhenThePeriodGrows) {
  constexpr std::uint32_t kThreads = 400;
  constexpr int kRounds = 50;
  double share = 0;
  for (int round = 0; round < kRounds; ++round) {
    ProfileBuilder builder(StartEvent(), {});
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      // The first half runs f1, and the second half f2 while samples are half as many.
      const bool late = i >= kThreads / 2;
      if (i == kThreads / 2) {
        wire::PeriodsEvent periods;
        periods.header.time_ns = kStartNs + (20 + 20 * i) * kMs;
        periods.on_cpu_period_ns = periods.off_cpu_period_ns = 2 * kPeriodNs;
        builder.SetEffectivePeriods(periods);
      }
      SyntheticThread thread({1'000 + i, 1}, kProcess, kStartNs + (20 + 20 * i) * kMs);
      thread.Run(State::kOnCpu, 4 * kMs, late ? 2 : 1);
      AddWholeLife(builder, thread, kStartNs + (20 + 20 * i) * kMs, random_,
                   late ? 2 * kPeriodNs : kPeriodNs);
    }
    const Profile profile = builder.Build(EndEvent(), FrameOf);
    ASSERT_EQ(profile.threads.size(), 1u);
    auto weights = Weights(profile, 0, State::kOnCpu);
    EXPECT_EQ(Total(weights), kThreads * 4 * kMs);
    share += static_cast<double>(weights["f1"]) / static_cast<double>(Total(weights)) / kRounds;
  }
  // Some 80 samples of 10 ms and 40 of 20 ms. The variance of a round's share is at most that of
  // independent samples, (80 * 10^2 + 40 * 20^2) / 4 / 1600^2.
  EXPECT_NEAR(share, 0.5, 5 * std::sqrt((80 * 100 + 40 * 400) / 4.0 / (1600.0 * 1600) / kRounds));
}

TEST_F(ShortThreads, AreThoseThatCanExpectFewerThanTenSamples) {
  EXPECT_EQ(SizesOf(10 * kPeriodNs - 1, 0), kOneGroup);
  EXPECT_EQ(SizesOf(10 * kPeriodNs, 0), kApart);
  EXPECT_EQ(SizesOf(5 * kPeriodNs, 5 * kPeriodNs - 1), kOneGroup);
  EXPECT_EQ(SizesOf(5 * kPeriodNs, 5 * kPeriodNs), kApart);
}

TEST_F(ShortThreads, AreNotThoseThatRunWhileWaitsAreSampledSeldom) {
  auto start = StartEvent();
  start.off_cpu_period_ns = 10 * kPeriodNs;
  EXPECT_EQ(SizesOf(9 * kPeriodNs, 10 * kPeriodNs - 1, start), kOneGroup);
  EXPECT_EQ(SizesOf(9 * kPeriodNs, 10 * kPeriodNs, start), kApart);
}

TEST_F(ShortThreads, AreThoseThatWaitForLongerAndMayHaveNoSampleOnACpu) {
  EXPECT_EQ(SizesOf(2 * kPeriodNs - 1, 50 * kPeriodNs), kOneGroup);
  EXPECT_EQ(SizesOf(2 * kPeriodNs, 50 * kPeriodNs), kApart);
}

TEST_F(ShortThreads, AreNotThoseThatWaitForLong) {
  EXPECT_EQ(SizesOf(kPeriodNs, 99 * kPeriodNs - 1), kOneGroup);
  EXPECT_EQ(SizesOf(kPeriodNs, 99 * kPeriodNs), kApart);
}

TEST_F(ShortThreads, OfASessionThatSeesOnePartOfTheirTimeAreJudgedByThat) {
  const auto waits = StartEvent(PROFD_SESSION_OFF_CPU);
  EXPECT_EQ(SizesOf(kPeriodNs, 10 * kPeriodNs - 1, waits), kOneGroup);
  EXPECT_EQ(SizesOf(kPeriodNs, 10 * kPeriodNs, waits), kApart);
  const auto runs = StartEvent(PROFD_SESSION_ON_CPU);
  EXPECT_EQ(SizesOf(10 * kPeriodNs - 1, 200 * kPeriodNs, runs), kOneGroup);
  EXPECT_EQ(SizesOf(10 * kPeriodNs, 0, runs), kApart);
}

TEST_F(ShortThreads, ThatTheCallerHasNamedKeepTheirRows) {
  auto start = StartEvent();
  start.target = "tid 1000,1001";
  EXPECT_EQ(SizesOf(kPeriodNs, 0, start), kApart);
  start.target = "tid 1000,1007";
  EXPECT_EQ(SizesOf(kPeriodNs, 0, start), kApart) << "the other one is alone";
  start.target = "pid 100 +children";
  EXPECT_EQ(SizesOf(kPeriodNs, 0, start), kOneGroup);
  start.target = "no target";
  EXPECT_EQ(SizesOf(kPeriodNs, 0, start), kOneGroup);
}

TEST_F(ShortThreads, AreProcessesToo) {
  for (const bool named : {false, true}) {
    auto start = StartEvent();
    if (named) start.target = "pid 2001,2002";
    ProfileBuilder builder(start, {});
    for (std::uint32_t pid = 2'001; pid < 2'005; ++pid) {
      SyntheticThread thread({pid, pid}, {pid, pid}, kBorn);
      thread.Run(State::kOnCpu, 2 * kMs, 1);
      AddWholeLife(builder, thread, kBorn, random_);
    }
    const Profile profile = builder.Build(EndEvent(), FrameOf);
    EXPECT_EQ(SizesOf(profile),
              named ? (std::vector<std::uint32_t>{0, 0, 2}) : std::vector<std::uint32_t>{4});
    EXPECT_EQ(profile.processes.back().group_size, named ? 2u : 4u);
  }
}

// A thread of which the end is not known has no clock: its weights are those of its samples, and no
// part of an exact sum.
TEST_F(ShortThreads, WithoutAClockLeaveTheSumsOfOthersExact) {
  ProfileBuilder builder(StartEvent(), {});
  for (std::uint32_t i = 0; i < 3; ++i) {
    SyntheticThread thread({1'000 + i, 1}, kProcess, kBorn);
    thread.Run(State::kOnCpu, 30 * kMs, 1);
    if (i != 0) {
      AddWholeLife(builder, thread, kBorn, random_);
      continue;
    }
    wire::ForkEvent fork;
    fork.header = thread.Header(kBorn);
    builder.AddFork(fork);
    for (const auto& sample : thread.Samples(kPeriodNs, random_)) builder.AddSample(sample);
    wire::ExitEvent exit;
    exit.header = thread.Header(thread.end_ns());
    builder.AddExit(exit);
  }
  const Profile profile = builder.Build(EndEvent(), FrameOf);
  ASSERT_EQ(SizesOf(profile), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(profile.threads[0].clock_missing);
  EXPECT_FALSE(profile.threads[1].clock_missing);
  EXPECT_EQ(Total(Weights(profile, 1, State::kOnCpu)), 60 * kMs);
}

TEST_F(ShortThreads, ThatAreThereAtTheStartOrAtTheEndKeepTheirRows) {
  ProfileBuilder builder(StartEvent(), {});
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint64_t begin_ns = i < 2 ? kStartNs - 10 * kMs : kEndNs - 10 * kMs;
    SyntheticThread thread({1'000 + i, 1}, kProcess, begin_ns);
    thread.Run(State::kOnCpu, 20 * kMs, 1);
    if (i < 2) {
      builder.AddClock(thread.ClockAt(1, kStartNs));
      builder.AddClock(thread.EndEvent());
    } else {
      wire::ForkEvent fork;
      fork.header = thread.Header(begin_ns);
      builder.AddFork(fork);
      builder.AddClock(thread.ClockAt(2, kEndNs));
    }
  }
  EXPECT_EQ(SizesOf(builder.Build(EndEvent(), FrameOf)), (std::vector<std::uint32_t>{0, 0, 0, 0}));
}

TEST_F(ShortThreads, ThatJoinASessionByTheirNameBeginThere) {
  auto start = StartEvent();
  start.target = "comm synthetic";
  ProfileBuilder builder(start, {});
  for (std::uint32_t i = 0; i < 2; ++i) {
    SyntheticThread thread({1'000 + i, 1}, kProcess, kBorn);
    thread.Run(State::kOnCpu, 20 * kMs, 1);
    // The session has it from its sixth ms on.
    builder.AddClock(thread.ClockAt(1, kBorn + 5 * kMs));
    builder.AddClock(thread.EndEvent());
    wire::ExitEvent exit;
    exit.header = thread.Header(thread.end_ns());
    builder.AddExit(exit);
  }
  const Profile profile = builder.Build(EndEvent(), FrameOf);
  ASSERT_EQ(SizesOf(profile), kOneGroup);
  EXPECT_EQ(profile.threads[0].clock.on_cpu_ns, 30 * kMs);
}

// What moves weight between the members of a group is where their points lie, also at the ends of
// their lives: each sample has two edges.
TEST_F(ShortThreads, HaveAnEdgeAtEachEndOfTheirSamples) {
  constexpr std::uint32_t kLevel = 23;
  constexpr std::uint64_t kPointNs = std::uint64_t{1} << kLevel;
  constexpr std::uint64_t kSeed = 12345;
  ProfileBuilder builder(StartEvent(3, kPointNs), {});
  wire::PeriodsEvent periods;
  periods.header.time_ns = kStartNs;
  periods.on_cpu_period_ns = periods.off_cpu_period_ns = kPointNs;
  periods.point_seed = kSeed;
  builder.SetEffectivePeriods(periods);
  for (std::uint32_t i = 0; i < 20; ++i) {
    const std::uint64_t begin_ns = kBorn + i * kPointNs;
    SyntheticThread thread({1'000 + i, 1}, kProcess, begin_ns);
    thread.Run(State::kBlocked, kPointNs, 1);
    for (auto& sample : thread.Samples(kPointNs, random_)) {
      sample.sample.blocked_points =
          static_cast<std::uint32_t>(profd_points_in(kSeed, kLevel, begin_ns, begin_ns + kPointNs));
      if (sample.sample.blocked_points != 0) builder.AddSample(sample);
    }
    wire::ForkEvent fork;
    fork.header = thread.Header(begin_ns);
    builder.AddFork(fork);
    wire::ExitEvent exit;
    exit.header = thread.Header(thread.end_ns());
    builder.AddExit(exit);
    builder.AddClock(thread.EndEvent());
  }
  const Profile profile = builder.Build(EndEvent(), FrameOf);
  ASSERT_EQ(SizesOf(profile), std::vector<std::uint32_t>{20});
  ASSERT_FALSE(profile.samples.empty());
  for (const ProfileSample& sample : profile.samples) {
    EXPECT_NE(sample.edges & kEdgeSet, 0);
    EXPECT_NE(sample.edges >> kEdgeBits & kEdgeSet, 0);
  }
  EXPECT_GT(profile.threads[0].edge_factors[static_cast<std::size_t>(State::kBlocked)], 0);
}

}  // namespace
}  // namespace profd::aggregate
