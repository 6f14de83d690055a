#include "daemon/aggregate/profile_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "tests/unit/aggregate/synthetic_thread.h"

namespace profd::aggregate {
namespace {

using process::State;
using process::WaitReason;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kStartNs = 5000 * kMs;
constexpr std::uint64_t kEndNs = 15000 * kMs;
constexpr std::uint64_t kPeriodNs = 10 * kMs;
constexpr ProcessKey kProcess{100, 77};
constexpr ThreadKey kMain{100, 77};

decode::SessionEvent StartEvent(std::uint32_t mode = 3, std::uint64_t period_ns = kPeriodNs) {
  decode::SessionEvent event;
  event.mode = mode;
  event.epoch = 1;
  event.epoch_ns = kStartNs;
  event.on_cpu_period_ns = event.off_cpu_period_ns = period_ns;
  event.bpf_cost_ns = 1000;
  event.own_cpu_ns = 2000;
  event.hook = PROFD_HOOK_SCHED_EXIT;
  event.target = "pid 100";
  return event;
}

decode::SessionEvent EndEvent() {
  auto event = StartEvent();
  event.end = true;
  event.epoch = 2;
  event.epoch_ns = kEndNs;
  event.bpf_cost_ns = 1500;
  event.own_cpu_ns = 9000;
  return event;
}

const symbolize::Frame& FrameOf(symbolize::FrameId id) {
  static const auto frames = [] {
    std::vector<symbolize::Frame> made(10);
    for (std::size_t i = 0; i < made.size(); ++i) made[i].name = "f" + std::to_string(i);
    return made;
  }();
  return frames.at(id);
}

class ProfileBuilderTest : public testing::Test {
 protected:
  explicit ProfileBuilderTest(std::uint32_t mode = 3)
      : builder_(StartEvent(mode), ProfileOrigin{"host", "6.18", "0.1.0", 1'000'000}) {}

  // A thread that lives through the session: both readings.
  void AddReadings(const SyntheticThread& thread) {
    builder_.AddClock(thread.ClockAt(1, kStartNs));
    builder_.AddClock(thread.ClockAt(2, kEndNs));
  }
  void AddSamples(const SyntheticThread& thread, std::uint64_t period_ns = kPeriodNs) {
    for (const auto& sample : thread.Samples(period_ns, random_)) builder_.AddSample(sample);
  }
  Profile Build() { return builder_.Build(EndEvent(), FrameOf); }

  std::mt19937_64 random_{4711};
  ProfileBuilder builder_;
};

std::string LeafName(const Profile& profile, const ProfileSample& sample) {
  return sample.node == 0 ? "" : profile.frames[profile.nodes[sample.node].frame].name;
}

// Sum of weights of one thread by leaf name and state.
std::map<std::string, std::uint64_t> Weights(const Profile& profile, std::uint32_t thread,
                                             State state) {
  std::map<std::string, std::uint64_t> weights;
  for (const auto& sample : profile.samples)
    if (sample.thread == thread && sample.state == state)
      weights[LeafName(profile, sample)] += sample.weight_ns;
  return weights;
}

std::uint64_t Total(const std::map<std::string, std::uint64_t>& weights) {
  std::uint64_t sum = 0;
  for (const auto& [name, ns] : weights) sum += ns;
  return sum;
}

void ExpectSumsEqualClocks(const Profile& profile) {
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    const auto& thread = profile.threads[i];
    ASSERT_FALSE(thread.clock_missing);
    EXPECT_EQ(Total(Weights(profile, i, State::kOnCpu)), thread.clock.on_cpu_ns);
    EXPECT_EQ(Total(Weights(profile, i, State::kRunnable)),
              thread.clock.runnable_ns[PROFD_AFTER_WAKEUP]);
    EXPECT_EQ(Total(Weights(profile, i, State::kBlocked)),
              thread.clock.blocked_ns[PROFD_INTERRUPTIBLE]);
    EXPECT_EQ(ElapsedOf(thread.clock), thread.end_ns - thread.begin_ns);
    EXPECT_EQ(ClosureError(thread), 0.0);
  }
}

// Alternates 3 ms and 7 ms of lock waits with computing and waiting for the CPU between them.
SyntheticThread BusyThread(std::mt19937_64& random) {
  SyntheticThread thread(kMain, kProcess, 1000 * kMs);
  while (thread.end_ns() < kEndNs + 1000 * kMs) {
    thread.Run(State::kOnCpu, 1 * kMs + random() % kMs, 1);
    thread.Run(State::kBlocked, 3 * kMs, 2);
    thread.Run(State::kRunnable, kMs / 2 + random() % kMs, 2);
    thread.Run(State::kOnCpu, 2 * kMs + random() % kMs, 3);
    thread.Run(State::kBlocked, 7 * kMs, 4);
    thread.Run(State::kOnCpu, 1 * kMs, 3);
    thread.Run(State::kRunnable, kMs, 5);
  }
  return thread;
}

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
    if (LeafName(profile, sample) == "f2") {  // 200 marks, half of them inside
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
  thread.Run(State::kBlocked, 100'000 * kMs, 4);  // 8 s to the end, and nobody sees it
  AddReadings(thread);
  for (const auto& sample : thread.Samples(kPeriodNs, random_))
    if (sample.sample.time_ns < kEndNs) builder_.AddSample(sample);
  const auto profile = Build();
  ExpectSumsEqualClocks(profile);
  const auto blocked = Weights(profile, 0, State::kBlocked);
  EXPECT_EQ(blocked.at(std::string(kStillBlocked)), 7000 * kMs);
  EXPECT_EQ(blocked.at("f2"), 1500 * kMs);
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
  decode::ForkEvent fork;
  fork.header = thread.Header(7000 * kMs);
  builder_.AddFork(fork);
  EXPECT_EQ(builder_.live_threads(), 1u);
  AddSamples(thread);
  decode::ExitEvent exit;
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
  coarse.SetOnCpuPeriodInForce(kPeriodNs);
  fine.SetOnCpuPeriodInForce(kPeriodNs);
  const auto thread = BusyThread(random);
  for (const auto& sample : thread.Samples(kPeriodNs, random)) {
    fine.AddSample(sample);
    coarse.AddSample(sample);
  }
  const auto kept = static_cast<double>(coarse.samples());
  const auto expected = static_cast<double>(fine.samples()) / 5;
  EXPECT_NEAR(kept, expected, 5 * std::sqrt(expected));
}

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
  EXPECT_EQ(builder.samples(), 50u);
  const auto profile = builder.Build(EndEvent(), FrameOf);
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

TEST_F(ProfileBuilderTest, TellsWhatItRestsOn) {
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

TEST_F(ProfileBuilderTest, AThreadThatExecutesTakesTheLeadersPlace) {
  // The leader ends, thread 105 goes on as 100.
  SyntheticThread leader(kMain, kProcess, 1000 * kMs);
  leader.Run(State::kBlocked, 7000 * kMs, 2);
  SyntheticThread other({105, 900}, kProcess, 2000 * kMs);
  other.Run(State::kOnCpu, 30'000 * kMs, 1);
  builder_.AddClock(leader.ClockAt(1, kStartNs));
  builder_.AddClock(other.ClockAt(1, kStartNs));
  builder_.AddClock(leader.EndEvent());
  decode::ExecEvent exec;
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
  absurd.sample.blocked_marks = absurd.sample.runnable_marks = ~0u;
  absurd.sample.state = State::kBlocked;
  builder_.AddSample(absurd);
  absurd.sample.begin_ns = kMax;
  builder_.AddSample(absurd);
  absurd.sample.state = State::kOnCpu;
  builder_.AddSample(absurd);
  decode::ClockEvent clock;
  clock.header.time_ns = kMax;
  clock.epoch = kMax;
  clock.end = true;
  builder_.AddClock(clock);
  const auto profile = Build();
  for (const auto& sample : profile.samples) EXPECT_LT(sample.node, profile.nodes.size());
}

}  // namespace
}  // namespace profd::aggregate
