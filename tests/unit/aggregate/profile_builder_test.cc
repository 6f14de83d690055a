#include "daemon/aggregate/profile_builder.h"

#include "bpf/shared/points.h"
#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

TEST_F(ProfileBuilderTest, ABusyThreadAddsUpAndItsSharesAreTrue) {
  const auto thread = BusyThread(random_);
  AddReadings(thread);
  AddSamples(thread);
  const auto profile = Build();
  ASSERT_EQ(profile.threads.size(), 1u);
  ExpectSumsEqualClocks(profile);
  EXPECT_EQ(profile.threads[0].begin_ns, kStartNs);
  EXPECT_EQ(profile.threads[0].end_ns, kEndNs);

  const auto blocked = Weights(profile, 0, State::kBlocked);
  const double n = static_cast<double>(Total(blocked)) / kPeriodNs;
  EXPECT_NEAR(static_cast<double>(blocked.at("f2")) / static_cast<double>(Total(blocked)), 0.3,
              5 * std::sqrt(0.3 * 0.7 / n));
}

TEST_F(ProfileBuilderTest, HeadAndEndOfAnIntervalAcrossTheBordersAreClipped) {
  // Blocked from 4 s to 6 s and from 14 s to 16 s; 8 s of computing between.
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 3000 * kMs, 1);
  thread.Run(State::kBlocked, 2000 * kMs, 2);
  thread.Run(State::kOnCpu, 8000 * kMs, 1);
  thread.Run(State::kBlocked, 2000 * kMs, 4);
  thread.Run(State::kOnCpu, 100 * kMs, 1);
  AddReadings(thread);
  AddSamples(thread);
  const auto profile = Build();
  ExpectSumsEqualClocks(profile);
  const auto blocked = Weights(profile, 0, State::kBlocked);
  EXPECT_EQ(blocked.at("f2"), 1000 * kMs);
  EXPECT_EQ(blocked.at("f4"), 1000 * kMs);
  for (const auto& sample : profile.samples) {
    EXPECT_GE(sample.time_ns, kStartNs);
    EXPECT_LT(sample.time_ns, kEndNs);
    if (LeafName(profile, sample) == "f2") {  // 200 sampling points, half of them inside
      EXPECT_EQ(sample.count, 200u);
      EXPECT_EQ(sample.raw_weight_ns, 1000 * kMs);
      EXPECT_FALSE(sample.exact);
    }
  }
}

TEST_F(ProfileBuilderTest, ASnapshotIsExactAndReplacesTheRingSample) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 5000 * kMs, 1);
  thread.Run(State::kBlocked, 10'000 * kMs, 2);  // from 6 s, beyond the end
  AddReadings(thread);
  symbolize::SymbolizedSample snapshot;
  snapshot.frames = {4};
  snapshot.sample.process = kProcess;
  snapshot.sample.thread = kMain;
  snapshot.sample.state = State::kBlocked;
  snapshot.sample.wait = WaitReason::kPoll;
  snapshot.sample.snapshot = true;
  snapshot.sample.begin_ns = 6000 * kMs;
  snapshot.sample.time_ns = kEndNs + 3 * kMs;
  builder_.AddSample(snapshot);
  AddSamples(thread);
  const auto profile = Build();
  ExpectSumsEqualClocks(profile);
  const auto blocked = Weights(profile, 0, State::kBlocked);
  EXPECT_EQ(blocked.size(), 1u);
  EXPECT_EQ(blocked.at("f4"), 9000 * kMs);
  const auto exact = std::count_if(profile.samples.begin(), profile.samples.end(),
                                   [](const auto& sample) { return sample.exact; });
  EXPECT_EQ(exact, 1);
}

TEST_F(ProfileBuilderTest, ASleeperThroughTheSessionWithoutAStackIsStillThere) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kBlocked, 100'000 * kMs, 2);
  AddReadings(thread);
  const auto profile = Build();
  ASSERT_EQ(profile.samples.size(), 1u);
  const auto& sample = profile.samples[0];
  EXPECT_EQ(LeafName(profile, sample), kStillBlocked);
  EXPECT_EQ(sample.weight_ns, kEndNs - kStartNs);
  EXPECT_TRUE(sample.exact);
  EXPECT_EQ(sample.count, 0u);
  EXPECT_EQ(profile.frames[0].kind, symbolize::FrameKind::kPseudo);
  ExpectSumsEqualClocks(profile);
}

TEST_F(ProfileBuilderTest, TheOpenIntervalComesBeforeTheSampledOnes) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 4500 * kMs, 1);
  thread.Run(State::kBlocked, 1500 * kMs, 2);  // 5.5 s to 7 s
  thread.Run(State::kOnCpu, 1000 * kMs, 1);
  thread.Run(State::kBlocked, 100'000 * kMs, 4);  // 8 s to the end, which no snapshot shows
  AddReadings(thread);
  for (const auto& sample : thread.Samples(kPeriodNs, random_))
    if (sample.sample.time_ns < kEndNs) builder_.AddSample(sample);
  const auto profile = Build();
  ExpectSumsEqualClocks(profile);
  const auto blocked = Weights(profile, 0, State::kBlocked);
  EXPECT_EQ(blocked.at(std::string(kStillBlocked)), 7000 * kMs);
  EXPECT_EQ(blocked.at("f2"), 1500 * kMs);
}

TEST_F(ProfileBuilderTest, SamplesSayWhereTheyRanAndWhatRanBesideThem) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 14'500 * kMs, 1);
  AddReadings(thread);
  auto samples = thread.Samples(kPeriodNs, random_);
  ASSERT_GT(samples.size(), 2u);
  for (auto& sample : samples) {
    sample.sample.cpu = 4;
    sample.sample.sibling = process::Sibling::kBusy;
    builder_.AddSample(sample);
  }
  const auto profile = Build();
  EXPECT_GT(profile.samples.size(), 2u);
  for (const ProfileSample& sample : profile.samples) {
    if (sample.count == 0) continue;
    EXPECT_EQ(sample.cpu, 5u);
    EXPECT_EQ(sample.sibling, process::Sibling::kBusy);
  }
}

TEST_F(ProfileBuilderTest, TimeWithoutSamplesIsShownAsSuch) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 5000 * kMs, 1);
  auto start = thread.ClockAt(1, kStartNs);
  auto end = start;
  end.epoch = 2;
  end.epoch_ns = kEndNs;
  end.state = PROFD_STATE_ON_CPU;
  end.at_epoch.on_cpu_ns += 1;
  end.at_epoch.runnable_ns[PROFD_AFTER_YIELD] += 2;
  end.at_epoch.blocked_ns[PROFD_INTERRUPTIBLE] += 3;
  end.at_epoch.blocked_ns[PROFD_UNINTERRUPTIBLE] += 4;
  end.at_epoch.blocked_ns[PROFD_IOWAIT] += 5;
  builder_.AddClock(start);
  builder_.AddClock(end);
  const auto profile = Build();
  std::map<std::pair<State, WaitReason>, std::uint64_t> found;
  for (const auto& sample : profile.samples) {
    EXPECT_EQ(LeafName(profile, sample), kNotSampled);
    EXPECT_EQ(sample.count, 0u);
    EXPECT_EQ(sample.raw_weight_ns, 0u);
    EXPECT_FALSE(sample.exact);
    found[{sample.state, sample.wait}] += sample.weight_ns;
  }
  using Key = std::pair<State, WaitReason>;
  EXPECT_EQ(found, (std::map<Key, std::uint64_t>{{{State::kOnCpu, WaitReason::kNone}, 1},
                                                 {{State::kRunnable, WaitReason::kNone}, 2},
                                                 {{State::kBlocked, WaitReason::kOther}, 3},
                                                 {{State::kBlocked, WaitReason::kKernel}, 4},
                                                 {{State::kBlocked, WaitReason::kIo}, 5}}));
}

TEST_F(ProfileBuilderTest, AThreadThatComesAndGoesHasItsOwnWindow) {
  SyntheticThread thread({101, 800}, kProcess, 7000 * kMs);
  thread.Run(State::kOnCpu, 40 * kMs, 1);
  thread.Run(State::kBlocked, 50 * kMs, 2);
  thread.Run(State::kOnCpu, 10 * kMs, 3);
  wire::ForkEvent fork;
  fork.header = thread.Header(7000 * kMs);
  builder_.AddFork(fork);
  EXPECT_EQ(builder_.live_threads(), 1u);
  AddSamples(thread);
  wire::ExitEvent exit;
  exit.header = thread.Header(7099 * kMs);
  exit.last_thread = true;
  builder_.AddExit(exit);
  builder_.AddClock(thread.EndEvent());
  EXPECT_EQ(builder_.live_threads(), 0u);
  const auto profile = Build();
  ExpectSumsEqualClocks(profile);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].begin_ns, 7000 * kMs);
  EXPECT_EQ(profile.threads[0].end_ns, 7100 * kMs);
  EXPECT_TRUE(profile.threads[0].began);
  EXPECT_TRUE(profile.threads[0].exited);
  EXPECT_TRUE(profile.processes[0].exited);
}

TEST_F(ProfileBuilderTest, AProcessOfTwoOwnersIsNeitherOnesAlone) {
  for (const auto& [since_ns, sole] : {std::pair{std::uint64_t{0}, true},
                                       {kStartNs - 1, true},
                                       {kStartNs + 1, false},
                                       {kEndNs - 1, false}}) {
    ProfileBuilder builder(StartEvent(), ProfileOrigin{"host", "6.18", "0.1.0", 1'000'000});
    const auto thread = BusyThread(random_);
    builder.AddClock(thread.ClockAt(1, kStartNs));
    builder.AddClock(thread.ClockAt(2, kEndNs));
    auto info = std::make_shared<process::ProcessInfo>();
    info->key = kProcess;
    info->owner = {.uid = 30, .sole = true, .user = "ann"};
    info->owned_since_ns = since_ns;
    builder.AddProcess(info);
    const auto profile = builder.Build(EndEvent(), FrameOf);
    ASSERT_EQ(profile.processes.size(), 1u);
    EXPECT_EQ(profile.processes[0].owner.sole, sole) << since_ns;
    EXPECT_EQ(profile.processes[0].owner.uid, 30u);
  }
}

TEST_F(ProfileBuilderTest, WithoutAClockTheRawWeightsStand) {
  const auto thread = BusyThread(random_);
  builder_.AddClock(thread.ClockAt(1, kStartNs));
  AddSamples(thread);
  const auto profile = Build();
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_TRUE(profile.threads[0].clock_missing);
  EXPECT_FALSE(profile.samples.empty());
  for (const auto& sample : profile.samples) EXPECT_EQ(sample.weight_ns, sample.raw_weight_ns);
}

class OnCpuOnly : public ProfileBuilderTest {
 protected:
  OnCpuOnly() : ProfileBuilderTest(1) {}
};
class OffCpuOnly : public ProfileBuilderTest {
 protected:
  OffCpuOnly() : ProfileBuilderTest(2) {}
};

TEST_F(OnCpuOnly, HoldsRunningTimeAlone) {
  const auto thread = BusyThread(random_);
  AddReadings(thread);
  AddSamples(thread);
  const auto profile = Build();
  EXPECT_TRUE(profile.on_cpu);
  EXPECT_FALSE(profile.off_cpu);
  EXPECT_EQ(Total(Weights(profile, 0, State::kOnCpu)), profile.threads[0].clock.on_cpu_ns);
  EXPECT_TRUE(Weights(profile, 0, State::kRunnable).empty());
  EXPECT_TRUE(Weights(profile, 0, State::kBlocked).empty());
}

TEST_F(OffCpuOnly, HoldsWaitingTimeAlone) {
  const auto thread = BusyThread(random_);
  AddReadings(thread);
  AddSamples(thread);
  const auto profile = Build();
  EXPECT_TRUE(Weights(profile, 0, State::kOnCpu).empty());
  EXPECT_EQ(Total(Weights(profile, 0, State::kBlocked)),
            profile.threads[0].clock.blocked_ns[PROFD_INTERRUPTIBLE]);
}

TEST(ProfileBuilder, ACoarserSessionKeepsTheShareThatItsPeriodAsksFor) {
  std::mt19937_64 random(5);
  ProfileBuilder fine(StartEvent(), {});
  ProfileBuilder coarse(StartEvent(3, 5 * kPeriodNs), {});
  coarse.SetEffectiveOnCpuPeriod(kPeriodNs);
  fine.SetEffectiveOnCpuPeriod(kPeriodNs);
  const auto thread = BusyThread(random);
  for (const auto& sample : thread.Samples(kPeriodNs, random)) {
    fine.AddSample(sample);
    coarse.AddSample(sample);
  }
  const auto kept = static_cast<double>(coarse.samples());
  const auto expected = static_cast<double>(fine.samples()) / 5;
  EXPECT_NEAR(kept, expected, 5 * std::sqrt(expected));
}

wire::PeriodsEvent Periods(std::uint64_t time_ns, std::uint64_t on_cpu_ns,
                           std::uint64_t off_cpu_ns) {
  wire::PeriodsEvent event;
  event.header.time_ns = time_ns;
  event.on_cpu_period_ns = on_cpu_ns;
  event.off_cpu_period_ns = off_cpu_ns;
  return event;
}

// Of a thread that waits all the time, sampled at `level`.
void AddWaits(ProfileBuilder& builder, std::uint64_t seed, std::uint32_t level) {
  std::mt19937_64 random(3);
  symbolize::SymbolizedSample sample;
  sample.sample.thread = kMain;
  sample.sample.process = kProcess;
  sample.sample.state = State::kBlocked;
  sample.sample.period_ns = std::uint64_t{1} << level;
  for (std::uint64_t begin = kStartNs; begin < kEndNs;) {
    const std::uint64_t woken = begin + random() % 3'000'000;
    const std::uint64_t end = woken + random() % 300'000;
    sample.sample.begin_ns = begin;
    sample.sample.time_ns = end;
    sample.sample.runnable_ns = end - woken;
    sample.sample.blocked_points =
        static_cast<std::uint32_t>(profd_points_in(seed, level, begin, woken));
    sample.sample.runnable_points =
        static_cast<std::uint32_t>(profd_points_in(seed, level, woken, end));
    if (sample.sample.blocked_points != 0 || sample.sample.runnable_points != 0)
      builder.AddSample(sample);
    begin = end;
  }
}

// The points of a session are the same, whatever else is sampled.
TEST(ProfileBuilder, ACoarserSessionSeesThePointsThatItWouldSeeAlone) {
  constexpr std::uint64_t kSeed = 12'345;
  ProfileBuilder alone(StartEvent(3, 1u << 23), {});
  ProfileBuilder beside(StartEvent(3, 1u << 23), {});
  wire::PeriodsEvent periods = Periods(kStartNs, 1u << 23, 1u << 23);
  periods.point_seed = kSeed;
  alone.SetEffectivePeriods(periods);
  periods.off_cpu_period_ns = 1u << 20;
  beside.SetEffectivePeriods(periods);
  AddWaits(alone, kSeed, 23);
  AddWaits(beside, kSeed, 20);
  EXPECT_GT(alone.samples(), 0u);
  const auto seen = [](const Profile& profile) {
    std::vector<std::array<std::uint64_t, 4>> samples;
    for (const ProfileSample& sample : profile.samples)
      samples.push_back({sample.time_ns, static_cast<std::uint64_t>(sample.state), sample.count,
                         sample.raw_weight_ns});
    return samples;
  };
  const auto expected = seen(alone.Build(EndEvent(), FrameOf));
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(seen(beside.Build(EndEvent(), FrameOf)), expected);
}

Profile Empty(const ProfileBuilder& builder) { return builder.Build(EndEvent(), FrameOf); }

TEST(ProfileBuilder, ListsWhichPeriodWasEffectiveWhen) {
  ProfileBuilder builder(StartEvent(), {});
  builder.SetEffectivePeriods(Periods(kStartNs - 5, kPeriodNs, kPeriodNs));
  builder.SetEffectivePeriods(Periods(kStartNs + 10, kPeriodNs, 4 * kPeriodNs));
  builder.SetEffectivePeriods(Periods(kStartNs + 15, kPeriodNs, 4 * kPeriodNs));
  builder.SetEffectivePeriods(Periods(kStartNs + 20, 2 * kPeriodNs, kPeriodNs / 2));
  builder.SetEffectivePeriods(Periods(kEndNs, 0, 0));  // the session has ended
  const auto periods = Empty(builder).periods;
  ASSERT_EQ(periods.size(), 3u);
  EXPECT_EQ(periods[0].time_ns, kStartNs);
  EXPECT_EQ(periods[0].off_cpu_period_ns, kPeriodNs);
  EXPECT_EQ(periods[1].time_ns, kStartNs + 10);
  EXPECT_EQ(periods[1].on_cpu_period_ns, kPeriodNs);
  EXPECT_EQ(periods[1].off_cpu_period_ns, 4 * kPeriodNs);
  EXPECT_EQ(periods[2].on_cpu_period_ns, 2 * kPeriodNs);
  EXPECT_EQ(periods[2].off_cpu_period_ns, kPeriodNs) << "finer ones are for others";
}

TEST(ProfileBuilder, HasStepsOfItsTimeAndWhatWasWatched) {
  ProfileBuilder builder(StartEvent(), {});
  wire::StepSourceEvent source;
  source.source = 1;
  source.text = "record_function";
  source.names = source.ends = true;
  builder.AddStepSource(source);
  wire::StepEvent step;
  step.header.thread = kMain;
  step.header.process = kProcess;
  step.source = 1;
  step.name = "Optimizer.step";
  for (const std::uint64_t time_ns : {kStartNs - 1, kStartNs, kStartNs + 7, kEndNs}) {
    step.header.time_ns = time_ns;
    step.name_cut = time_ns > kStartNs;
    builder.AddStep(step);
  }
  const StepEvents steps = Empty(builder).steps;
  ASSERT_EQ(steps.sources.size(), 2u);
  EXPECT_EQ(steps.sources[1].text, "record_function");
  EXPECT_TRUE(steps.sources[1].ends);
  ASSERT_EQ(steps.events.size(), 2u);
  EXPECT_EQ(steps.events[0].time_ns, kStartNs);
  EXPECT_EQ(steps.names[steps.events[0].name], "Optimizer.step");
  EXPECT_EQ(steps.names[steps.events[1].name], "Optimizer.step...");
  EXPECT_EQ(steps.events[1].source, 1u);
}

TEST(ProfileBuilder, NamesWhoHasReportedTooMuch) {
  ProfileBuilder builder(StartEvent(), {});
  symbolize::SymbolizedSample sample;
  sample.sample.thread = kMain;
  sample.sample.process = kProcess;
  sample.sample.time_ns = kStartNs + 1;
  sample.sample.period_ns = kPeriodNs;
  builder.AddSample(sample);
  wire::BeyondShareEvent beyond;
  beyond.kind = PROFD_SHARE_THREADS;
  beyond.count = 7;
  beyond.header.process.pid = kProcess.pid;
  builder.AddBeyondShare(beyond);
  beyond.header.process.pid = kProcess.pid + 1;  // not in this profile
  builder.AddBeyondShare(beyond);
  beyond.header.process.pid = 0;
  beyond.kind = PROFD_SHARE_PROCESSES;
  beyond.uid = 1'000;
  builder.AddBeyondShare(beyond);
  beyond.kind = PROFD_SHARE_DEBUG_FILES;
  beyond.count = 5;
  builder.AddBeyondShare(beyond);
  beyond.count = 7;  // more is known of it by now
  builder.AddBeyondShare(beyond);
  beyond.count = 6;
  builder.AddBeyondShare(beyond);
  std::vector<std::string> texts;
  for (const NamedCount& count : Empty(builder).counters)
    if (count.name == "beyond_share") {
      EXPECT_EQ(count.count, 7u) << count.text;
      texts.push_back(count.text);
    }
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "PID " + std::to_string(kProcess.pid) +
                    " (): makes threads too often; short ones are left out",
                "UID 1000: starts processes too often; short ones are left out",
                "UID 1000: runs too many builds; debug files of some are downloaded later"}));
}

// What a background session gets while another one has everything sampled more finely.
TEST(ProfileBuilder, ABackgroundSessionKeepsItsSamplesAndSubsamplesTheRest) {
  wire::SessionEvent start = StartEvent(3, 5 * kPeriodNs);
  start.mode |= PROFD_SESSION_BACKGROUND;
  ProfileBuilder builder(start, {});
  wire::PeriodsEvent periods = Periods(kStartNs - 5, kPeriodNs, kPeriodNs);
  periods.background_on_cpu_period_ns = 10 * kPeriodNs;
  periods.background_off_cpu_period_ns = 20 * kPeriodNs;
  builder.SetEffectivePeriods(periods);
  constexpr int kSamples = 10'000;
  std::uint64_t kept = 0;
  for (const bool background : {true, false}) {
    const std::uint64_t before = builder.samples();
    symbolize::SymbolizedSample sample;
    sample.sample.background = background;
    sample.sample.thread = kMain;
    sample.sample.process = kProcess;
    sample.sample.period_ns = background ? 10 * kPeriodNs : kPeriodNs;
    for (int i = 0; i < kSamples; ++i) {
      sample.sample.time_ns = kStartNs + static_cast<std::uint64_t>(i);
      builder.AddSample(sample);
    }
    kept = builder.samples() - before;
    if (background) {
      EXPECT_EQ(kept, std::uint64_t{kSamples});
    }
  }
  // Of the others one in five: as good as drawn, so within five standard deviations.
  EXPECT_NEAR(static_cast<double>(kept), kSamples / 5.0, 5 * std::sqrt(kSamples * 0.2 * 0.8));
  builder.SetEffectivePeriods(Periods(kStartNs + 20, kPeriodNs, kPeriodNs));
  const auto held = Empty(builder).periods;
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[0].on_cpu_period_ns, 10 * kPeriodNs);
  EXPECT_EQ(held[0].off_cpu_period_ns, 20 * kPeriodNs);
  EXPECT_EQ(held[1].on_cpu_period_ns, 5 * kPeriodNs);
}

TEST(ProfileBuilder, RequestedPeriodsAreNotRepeated) {
  ProfileBuilder builder(StartEvent(), {});
  builder.SetEffectivePeriods(Periods(kStartNs, kPeriodNs, kPeriodNs));
  EXPECT_TRUE(Empty(builder).periods.empty());
}

// The governor had raised the periods before the session began, and kept them to its end.
TEST(ProfileBuilder, ReportsPeriodsThatWereRaisedAllTheTime) {
  ProfileBuilder builder(StartEvent(), {});
  builder.SetEffectivePeriods(Periods(kStartNs - 5, kPeriodNs, 4 * kPeriodNs));
  const auto periods = Empty(builder).periods;
  ASSERT_EQ(periods.size(), 1u);
  EXPECT_EQ(periods[0].time_ns, kStartNs);
  EXPECT_EQ(periods[0].on_cpu_period_ns, kPeriodNs);
  EXPECT_EQ(periods[0].off_cpu_period_ns, 4 * kPeriodNs);
}

}  // namespace
}  // namespace profd::aggregate
