// Bounds, order, identities and absurd events.
#include "daemon/aggregate/profile_builder.h"

#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

TEST(ProfileBuilder, IsBoundedAndStaysExact) {
  std::mt19937_64 random(6);
  ProfileBuilder::Limits limits;
  limits.parts = 50;
  ProfileBuilder builder(StartEvent(), {}, limits);
  const auto thread = BusyThread(random);
  builder.AddClock(thread.ClockAt(1, kStartNs));
  builder.AddClock(thread.ClockAt(2, kEndNs));
  const auto samples = thread.Samples(kPeriodNs, random);
  for (const auto& sample : samples) builder.AddSample(sample);
  const auto points = builder.samples();
  EXPECT_GE(points, 50u);
  const auto profile = builder.Build(EndEvent(), FrameOf);
  std::uint64_t counted = 0;
  for (const auto& sample : profile.samples) counted += sample.count;
  EXPECT_EQ(counted, points);
  ExpectSumsEqualClocks(profile);
  EXPECT_THAT(profile.dropped,
              testing::ElementsAre(testing::Field(&NamedCount::name, "session_full")));
}

TEST(ProfileBuilder, DoesNotDependOnTheOrderOfThreads) {
  std::mt19937_64 random(7);
  SyntheticThread first({11, 1}, {10, 1}, 1000 * kMs);
  SyntheticThread second({21, 1}, {20, 1}, 1000 * kMs);
  for (int i = 0; i < 2000; ++i) {
    first.Run(State::kOnCpu, 5 * kMs, 1);
    first.Run(State::kBlocked, 5 * kMs, 2);
    second.Run(State::kOnCpu, 3 * kMs, 3);
    second.Run(State::kBlocked, 7 * kMs, 4);
  }
  const auto of_first = first.Samples(kPeriodNs, random);
  const auto of_second = second.Samples(kPeriodNs, random);
  const auto build = [&](bool swapped) {
    ProfileBuilder builder(StartEvent(), {});
    const auto add = [&](const SyntheticThread& thread, const auto& samples) {
      builder.AddClock(thread.ClockAt(1, kStartNs));
      for (const auto& sample : samples) builder.AddSample(sample);
      builder.AddClock(thread.ClockAt(2, kEndNs));
    };
    if (swapped) add(second, of_second);
    add(first, of_first);
    if (!swapped) add(second, of_second);
    return builder.Build(EndEvent(), FrameOf);
  };
  const auto a = build(false);
  const auto b = build(true);
  EXPECT_EQ(a.frames, b.frames);
  ASSERT_EQ(a.nodes.size(), b.nodes.size());
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].time_ns, b.samples[i].time_ns);
    EXPECT_EQ(a.samples[i].node, b.samples[i].node);
    EXPECT_EQ(a.samples[i].thread, b.samples[i].thread);
    EXPECT_EQ(a.samples[i].weight_ns, b.samples[i].weight_ns);
  }
}

TEST_F(ProfileBuilderTest, ListsTheEvidence) {
  process::ProcessInfo info;
  info.key = kProcess;
  info.comm = "server";
  info.command_line = "server --fast";
  info.namespace_pids = {100, 7};
  builder_.AddProcess(std::make_shared<const process::ProcessInfo>(info));
  builder_.AddProcess(nullptr);
  builder_.SetCounters(std::vector<std::uint64_t>(PROFD_COUNTER_MAX, 4));
  std::vector<std::uint64_t> later(PROFD_COUNTER_MAX, 4);
  later[PROFD_COUNTER_ON_CPU_RING_FULL] = 10;
  builder_.SetCounters(later);
  EXPECT_EQ(builder_.lost(), 6u);
  builder_.AddDropped("queue_full", "samples dropped", 2);
  builder_.AddDropped("queue_full", "samples dropped", 3);
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 20'000 * kMs, 1);
  AddReadings(thread);
  const auto profile = Build();
  EXPECT_EQ(profile.target, "pid 100");
  EXPECT_EQ(profile.start_unix_ns, kStartNs + 1'000'000);
  EXPECT_EQ(profile.cost.bpf_ns, 500u);
  EXPECT_EQ(profile.cost.daemon_cpu_ns, 7000u);
  EXPECT_EQ(profile.hook, "sched_exit_tp");
  ASSERT_EQ(profile.processes.size(), 1u);
  EXPECT_EQ(profile.processes[0].shown_pid, 100u);
  EXPECT_EQ(profile.processes[0].comm, "server");
  EXPECT_EQ(profile.processes[0].command_line, "server --fast");
  ASSERT_EQ(profile.lost.size(), 1u);
  EXPECT_EQ(profile.lost[0].count, 6u);
  ASSERT_EQ(profile.dropped.size(), 1u);
  EXPECT_EQ(profile.dropped[0].count, 5u);
}

TEST(ProfileBuilder, ShowsThePidsOfAContainerToItsOwnPeople) {
  ProfileOrigin origin;
  origin.innermost_pids = true;
  ProfileBuilder builder(StartEvent(), origin);
  process::ProcessInfo info;
  info.key = kProcess;
  info.namespace_pids = {100, 7};
  builder.AddProcess(std::make_shared<const process::ProcessInfo>(info));
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 20'000 * kMs, 1);
  builder.AddClock(thread.ClockAt(1, kStartNs));
  builder.AddClock(thread.ClockAt(2, kEndNs));
  const auto profile = builder.Build(EndEvent(), FrameOf);
  EXPECT_EQ(profile.processes.at(0).shown_pid, 7u);
  EXPECT_EQ(profile.threads.at(0).shown_tid, 7u);
  EXPECT_EQ(profile.threads.at(0).key.tid, 100u);
}

TEST_F(ProfileBuilderTest, AThreadThatWasGoneBeforeItIsNotInIt) {
  // All of its life is reported late, when the session has begun.
  SyntheticThread thread({105, 900}, kProcess, kStartNs - 100 * kMs);
  thread.Run(State::kOnCpu, 50 * kMs, 1);
  wire::ForkEvent fork;
  fork.header = thread.Header(kStartNs - 100 * kMs);
  builder_.AddFork(fork);
  wire::ExitEvent exit;
  exit.header = thread.Header(kStartNs - 50 * kMs);
  builder_.AddExit(exit);
  builder_.AddClock(thread.EndEvent());
  EXPECT_THAT(Build().threads, testing::IsEmpty());
}

TEST_F(ProfileBuilderTest, AThreadThatExecutesTakesTheLeadersPlace) {
  // The leader ends, thread 105 goes on as 100.
  SyntheticThread leader(kMain, kProcess, 1000 * kMs);
  leader.Run(State::kBlocked, 7000 * kMs, 2);
  SyntheticThread other({105, 900}, kProcess, 2000 * kMs);
  other.Run(State::kOnCpu, 30'000 * kMs, 1);
  builder_.AddClock(leader.ClockAt(1, kStartNs));
  builder_.AddClock(other.ClockAt(1, kStartNs));
  builder_.AddClock(leader.EndEvent());
  wire::ExecEvent exec;
  exec.header = leader.Header(8001 * kMs);
  exec.old_tid = 105;
  builder_.AddExec(exec);
  EXPECT_EQ(builder_.live_threads(), 1u);
  auto end = other.ClockAt(2, kEndNs);
  end.header.thread = kMain;
  builder_.AddClock(end);
  const auto profile = Build();
  ASSERT_EQ(profile.threads.size(), 2u);
  EXPECT_EQ(profile.threads[0].end_ns, 8000 * kMs);
  EXPECT_EQ(profile.threads[0].clock.blocked_ns[PROFD_INTERRUPTIBLE], 3000 * kMs);
  EXPECT_EQ(profile.threads[1].key, kMain);
  EXPECT_EQ(profile.threads[1].clock.on_cpu_ns, kEndNs - kStartNs);
}

TEST_F(ProfileBuilderTest, AThreadThatLeavesAndComesBackIsThereTwice) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 30'000 * kMs, 1);
  builder_.AddClock(thread.ClockAt(1, kStartNs));
  auto leaving = thread.ClockAt(1, 7000 * kMs);
  leaving.end = true;
  leaving.header.time_ns = 7000 * kMs;
  builder_.AddClock(leaving);
  EXPECT_EQ(builder_.live_threads(), 0u);
  builder_.AddClock(thread.ClockAt(1, 9000 * kMs));
  EXPECT_EQ(builder_.live_threads(), 1u);
  builder_.AddClock(thread.ClockAt(2, kEndNs));
  AddSamples(thread);
  const auto profile = Build();
  ASSERT_EQ(profile.threads.size(), 2u);
  EXPECT_EQ(profile.threads[0].end_ns, 7000 * kMs);
  EXPECT_EQ(profile.threads[1].begin_ns, 9000 * kMs);
  EXPECT_EQ(profile.processes.size(), 1u);
  ExpectSumsEqualClocks(profile);
}

TEST_F(ProfileBuilderTest, SurvivesAbsurdEvents) {
  constexpr auto kMax = ~std::uint64_t{0};
  symbolize::SymbolizedSample absurd;
  absurd.sample.time_ns = kMax;
  absurd.sample.begin_ns = 1;
  absurd.sample.runnable_ns = kMax;
  absurd.sample.period_ns = kMax;
  absurd.sample.blocked_points = absurd.sample.runnable_points = ~0u;
  absurd.sample.state = State::kBlocked;
  builder_.AddSample(absurd);
  absurd.sample.begin_ns = kMax;
  builder_.AddSample(absurd);
  absurd.sample.state = State::kOnCpu;
  builder_.AddSample(absurd);
  wire::ClockEvent clock;
  clock.header.time_ns = kMax;
  clock.epoch = kMax;
  clock.end = true;
  builder_.AddClock(clock);
  const auto profile = Build();
  for (const auto& sample : profile.samples) EXPECT_LT(sample.node, profile.nodes.size());
}

// Blocked from second 6 on, through both windows.
symbolize::SymbolizedSample SnapshotOf(std::uint64_t begin_ns, std::uint64_t time_ns) {
  symbolize::SymbolizedSample snapshot;
  snapshot.frames = {4, 2};
  snapshot.sample.process = kProcess;
  snapshot.sample.thread = kMain;
  snapshot.sample.state = State::kBlocked;
  snapshot.sample.wait = WaitReason::kPoll;
  snapshot.sample.snapshot = true;
  snapshot.sample.begin_ns = begin_ns;
  snapshot.sample.time_ns = time_ns;
  return snapshot;
}

class NextWindow : public ProfileBuilderTest {
 protected:
  static constexpr std::uint64_t kNextEndNs = kEndNs + 10'000 * kMs;

  NextWindow() : next_(NextStart(), {}) {}
  static wire::SessionEvent NextStart() {
    auto event = StartEvent();
    event.epoch = 2;
    event.epoch_ns = kEndNs;
    return event;
  }
  // The profile of the second window.
  Profile Roll(const SyntheticThread& thread) {
    builder_.AddClock(thread.ClockAt(1, kStartNs));
    for (auto* builder : {&builder_, &next_}) builder->AddClock(thread.ClockAt(2, kEndNs));
    builder_.AddSample(SnapshotOf(6'000 * kMs, kEndNs + 3 * kMs));
    next_.ContinueFrom(builder_, EndEvent());
    next_.AddClock(thread.ClockAt(3, kNextEndNs));
    auto end = EndEvent();
    end.epoch = 3;
    end.epoch_ns = kNextEndNs;
    return next_.Build(end, FrameOf);
  }

  ProfileBuilder next_;
};

TEST_F(NextWindow, HasTheStackOfAThreadThatStaysBlocked) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 5'000 * kMs, 1);
  thread.Run(State::kBlocked, 60'000 * kMs, 4);
  const auto profile = Roll(thread);
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(profile.samples[0].weight_ns, kNextEndNs - kEndNs);
  EXPECT_TRUE(profile.samples[0].exact);
  EXPECT_EQ(profile.samples[0].wait, WaitReason::kPoll);
  EXPECT_EQ(LeafName(profile, profile.samples[0]), "f4");
  ExpectSumsEqualClocks(profile);
}

TEST_F(NextWindow, DoesNotShowAnOldStackOfAThreadThatRanSince) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 5'000 * kMs, 1);
  thread.Run(State::kBlocked, 12'000 * kMs, 4);  // until second 18
  thread.Run(State::kOnCpu, kMs, 1);
  thread.Run(State::kBlocked, 60'000 * kMs, 5);
  const auto profile = Roll(thread);
  for (const auto& sample : profile.samples) EXPECT_NE(LeafName(profile, sample), "f4");
  ExpectSumsEqualClocks(profile);
}

TEST_F(NextWindow, TakesNothingOfAThreadThatRanAtTheRoll) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 5'000 * kMs, 1);
  thread.Run(State::kBlocked, 1'000 * kMs, 4);
  thread.Run(State::kOnCpu, 60'000 * kMs, 1);
  const auto profile = Roll(thread);
  for (const auto& sample : profile.samples) EXPECT_NE(LeafName(profile, sample), "f4");
}

TEST_F(NextWindow, TheStackGoesOnThroughManyWindows) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  thread.Run(State::kOnCpu, 5'000 * kMs, 1);
  thread.Run(State::kBlocked, 60'000 * kMs, 4);
  (void)Roll(thread);
  auto start = NextStart();
  start.epoch = 3;
  start.epoch_ns = kNextEndNs;
  ProfileBuilder third(start, {});
  third.AddClock(thread.ClockAt(3, kNextEndNs));
  auto end = EndEvent();
  end.epoch = 3;
  end.epoch_ns = kNextEndNs;
  third.ContinueFrom(next_, end);
  // Frames may get other numbers on the way.
  third.RenumberFrames([](symbolize::FrameId id) { return id + 1; });
  end.epoch = 4;
  end.epoch_ns = kNextEndNs + 10'000 * kMs;
  third.AddClock(thread.ClockAt(4, end.epoch_ns));
  const auto profile = third.Build(end, FrameOf);
  ASSERT_EQ(profile.samples.size(), 1u);
  EXPECT_EQ(LeafName(profile, profile.samples[0]), "f5");
  ExpectSumsEqualClocks(profile);
}

}  // namespace
}  // namespace profd::aggregate
