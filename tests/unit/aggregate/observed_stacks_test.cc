#include "daemon/aggregate/observed_stacks.h"

#include "bpf/shared/control.h"
#include "tests/unit/aggregate/profile_builder_fixture.h"

namespace profd::aggregate {
namespace {

constexpr std::uint64_t kWindowNs = kEndNs - kStartNs;
constexpr std::uint32_t kMode = PROFD_SESSION_ON_CPU | PROFD_SESSION_OFF_CPU |
                                PROFD_SESSION_BACKGROUND | PROFD_SESSION_OBSERVED;

// Window `index` of a chain: its start, or its end, which is the start of the next one.
wire::SessionEvent WindowStart(std::uint64_t index) {
  auto event = StartEvent(kMode);
  event.epoch += index;
  event.epoch_ns += index * kWindowNs;
  event.hook = PROFD_HOOK_NONE;
  return event;
}

wire::SessionEvent WindowEnd(std::uint64_t index) {
  auto event = WindowStart(index + 1);
  event.end = true;
  return event;
}

// A thread as observers see it: it counts its stacks and the time that they hold.
class ObservedThread {
 public:
  explicit ObservedThread(ThreadKey key = kMain) : key_(key) {}

  // A visit that reads a stack.
  symbolize::SymbolizedSample Read(std::uint64_t time_ns, symbolize::FrameId frame,
                                   State state = State::kBlocked) {
    ++number_;
    (state == State::kBlocked ? blocked_ns_ : runnable_ns_) += kPeriodNs;
    auto made = Sample(time_ns, frame);
    made.sample.state = state;
    made.sample.wait = state == State::kBlocked ? WaitReason::kLock : WaitReason::kNone;
    return made;
  }
  // A visit that finds the thread in another place by the time its stack is read.
  symbolize::SymbolizedSample Move(std::uint64_t time_ns, std::int32_t syscall = -1,
                                   std::uint32_t registers = 0) {
    blocked_ns_ += kPeriodNs;
    auto made = Sample(time_ns, 9);
    made.sample.state = State::kBlocked;
    made.sample.stack_flags = PROFD_STACK_MOVED;
    made.sample.syscall = syscall;
    made.sample.observation->registers = registers;
    return made;
  }
  // Visits that find it unchanged.
  void Hold(std::uint64_t ns) {
    held_ns_ += ns;
    blocked_ns_ += ns;
  }

  // It waits only where observers have found it, so that each stack has its own weight.
  [[nodiscard]] wire::ClockEvent ClockAt(std::uint64_t epoch, std::uint64_t epoch_ns) const {
    wire::ClockEvent event;
    event.header = Header(epoch_ns);
    event.epoch = epoch;
    event.epoch_ns = epoch_ns;
    event.begin_ns = 1;
    event.state = PROFD_STATE_BLOCKED;
    event.observation = wire::Observation{.held_ns = held_ns_, .stack_number = number_};
    event.at_epoch.blocked_ns[PROFD_INTERRUPTIBLE] = blocked_ns_;
    event.at_epoch.runnable_ns[PROFD_AFTER_WAKEUP] = runnable_ns_;
    event.at_epoch.on_cpu_ns = epoch_ns - blocked_ns_ - runnable_ns_;
    event.final = event.at_epoch;
    return event;
  }
  [[nodiscard]] wire::ClockEvent ClockAt(const wire::SessionEvent& session) const {
    return ClockAt(session.epoch, session.epoch_ns);
  }
  [[nodiscard]] wire::EventHeader Header(std::uint64_t time_ns) const {
    wire::EventHeader header;
    header.time_ns = time_ns;
    header.process = kProcess;
    header.thread = key_;
    return header;
  }

 private:
  [[nodiscard]] symbolize::SymbolizedSample Sample(std::uint64_t time_ns,
                                                   symbolize::FrameId frame) const {
    symbolize::SymbolizedSample made;
    made.frames = {frame};
    made.sample.process = kProcess;
    made.sample.thread = key_;
    made.sample.time_ns = time_ns;
    made.sample.begin_ns = time_ns - 1;
    made.sample.period_ns = kPeriodNs;
    made.sample.observation = wire::Observation{.held_ns = held_ns_, .stack_number = number_};
    return made;
  }

  const ThreadKey key_;
  std::uint64_t number_ = 0;
  std::uint64_t held_ns_ = 0;
  std::uint64_t blocked_ns_ = 0;
  std::uint64_t runnable_ns_ = 0;
};

using Found = std::map<std::string, std::pair<std::uint64_t, std::uint32_t>>;

// Raw weight and count by leaf, of all samples with a stack.
Found FoundIn(const Profile& profile) {
  Found found;
  for (const auto& sample : profile.samples) {
    const auto name = LeafName(profile, sample);
    if (name == kNotSampled) continue;
    found[name].first += sample.raw_weight_ns;
    found[name].second += sample.count;
  }
  return found;
}

class ObservedStacksTest : public testing::Test {
 protected:
  Profile BuildWithEnd() {
    builder_.AddClock(thread_.ClockAt(WindowEnd(0)));
    return builder_.Build(WindowEnd(0), FrameOf);
  }

  ObservedThread thread_;
  ProfileBuilder builder_{WindowStart(0), {}};
};

TEST_F(ObservedStacksTest, GrowthIsOfTheStackThatTheThreadHadBeforeTheEvent) {
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  builder_.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  thread_.Hold(30 * kMs);
  builder_.AddSample(thread_.Read(kStartNs + 200 * kMs, 2));
  thread_.Hold(50 * kMs);
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile), (Found{{"f1", {40 * kMs, 4}}, {"f2", {60 * kMs, 6}}}));
  const auto blocked = Weights(profile, 0, State::kBlocked);
  EXPECT_EQ(blocked.at("f1"), 40 * kMs);
  EXPECT_EQ(blocked.at("f2"), 60 * kMs);
  ExpectSumsEqualClocks(profile);
  EXPECT_EQ(builder_.samples(), 10u);
  EXPECT_EQ(profile.hook, "none (snapshots)");
}

TEST_F(ObservedStacksTest, EveryClockBringsTheLastStackUpToDateAndPointsAreRoundedAsAWhole) {
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  builder_.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  for (std::uint64_t other = 1; other <= 3; ++other) {  // epochs of other sessions
    thread_.Hold(4 * kMs);
    builder_.AddClock(thread_.ClockAt(1, kStartNs + other * kMs));
  }
  EXPECT_EQ(FoundIn(BuildWithEnd()), (Found{{"f1", {22 * kMs, 2}}}));
}

TEST_F(ObservedStacksTest, WhatGrewAroundALostStackIsDropped) {
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  builder_.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  thread_.Hold(70 * kMs);
  static_cast<void>(thread_.Read(kStartNs + 200 * kMs, 2));
  thread_.Hold(500 * kMs);
  // A clock by the number of the lost one does not say of which stack it is either.
  builder_.AddClock(thread_.ClockAt(1, kStartNs + 250 * kMs));
  builder_.AddSample(thread_.Read(kStartNs + 300 * kMs, 3));
  thread_.Hold(20 * kMs);
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile), (Found{{"f1", {10 * kMs, 1}}, {"f3", {30 * kMs, 3}}}));
  ExpectSumsEqualClocks(profile);
}

TEST_F(ObservedStacksTest, AThreadThatEndsHasTheLastWeightInItsEnd) {
  wire::ForkEvent fork;
  // The kernel's sums begin a little before the fork is reported.
  fork.header = thread_.Header(kStartNs + 100 * kMs + 5'000);
  builder_.AddFork(fork);
  builder_.AddSample(thread_.Read(kStartNs + 200 * kMs, 1, State::kRunnable));
  builder_.AddSample(thread_.Read(kStartNs + 300 * kMs, 2));
  thread_.Hold(40 * kMs);
  auto end = thread_.ClockAt(0, 0);
  end.header.time_ns = kStartNs + 400 * kMs;
  end.begin_ns = kStartNs + 100 * kMs;
  end.end = true;
  end.state = PROFD_STATE_DEAD;
  end.at_epoch = {};
  end.final.on_cpu_ns = 240 * kMs;
  builder_.AddClock(end);
  const auto profile = builder_.Build(WindowEnd(0), FrameOf);
  EXPECT_EQ(FoundIn(profile), (Found{{"f1", {10 * kMs, 1}}, {"f2", {50 * kMs, 5}}}));
  EXPECT_EQ(Weights(profile, 0, State::kRunnable).at("f1"), 10 * kMs);
  EXPECT_EQ(profile.threads[0].begin_ns, kStartNs + 100 * kMs);
  ExpectSumsEqualClocks(profile);
}

// When the kernel frees a thread, its end is reported once more, with what it did after its exit.
TEST_F(ObservedStacksTest, WhatAThreadDoesAfterItsExitCounts) {
  wire::ForkEvent fork;
  fork.header = thread_.Header(kStartNs + 100 * kMs);
  builder_.AddFork(fork);
  auto end = thread_.ClockAt(0, 0);
  end.header.time_ns = kStartNs + 400 * kMs;
  end.begin_ns = kStartNs + 100 * kMs;
  end.end = true;
  end.state = PROFD_STATE_DEAD;
  end.at_epoch = {};
  end.final = {};
  end.final.on_cpu_ns = 300 * kMs;
  builder_.AddClock(end);
  end.header.time_ns = kStartNs + 900 * kMs;
  end.freed = true;
  end.final.on_cpu_ns = 350 * kMs;
  builder_.AddClock(end);
  const auto profile = builder_.Build(WindowEnd(0), FrameOf);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].end_ns, kStartNs + 450 * kMs);
  EXPECT_EQ(profile.threads[0].clock.on_cpu_ns, 350 * kMs);
  ExpectSumsEqualClocks(profile);
}

TEST_F(ObservedStacksTest, AThreadThatEndedBeforeTheStartDoesNotComeBackWhenItIsFreed) {
  auto end = thread_.ClockAt(0, 0);
  end.header.time_ns = kStartNs + 5 * kMs;
  end.begin_ns = kStartNs - 300 * kMs;
  end.end = end.freed = true;
  end.state = PROFD_STATE_DEAD;
  end.at_epoch = {};
  end.final = {};
  end.final.on_cpu_ns = 301 * kMs;
  builder_.AddClock(end);
  EXPECT_TRUE(builder_.Build(WindowEnd(0), FrameOf).threads.empty());
}

TEST_F(ObservedStacksTest, AWaitAtTheEndHasNoExactTime) {
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  thread_.Hold(100 * kMs);
  const auto profile = BuildWithEnd();
  EXPECT_EQ(Weights(profile, 0, State::kBlocked).at(std::string(kNotSampled)), 100 * kMs);
  for (const auto& sample : profile.samples) EXPECT_FALSE(sample.exact);
  ExpectSumsEqualClocks(profile);
}

TEST_F(ObservedStacksTest, AStackFromJustBeforeTheStartCountsFromTheStart) {
  auto early = thread_.Read(kStartNs - kMs, 1);
  builder_.AddSample(early);
  ObservedThread dead({105, 80});
  builder_.AddSample(dead.Read(kStartNs - kMs, 2));
  thread_.Hold(40 * kMs);
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  thread_.Hold(20 * kMs);
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile), (Found{{"f1", {20 * kMs, 2}}}));
  EXPECT_EQ(profile.threads.size(), 1u) << "the other one was gone before the start";
  for (const auto& sample : profile.samples) EXPECT_EQ(sample.time_ns, kStartNs);
  ExpectSumsEqualClocks(profile);
}

// The clock has the time of the epoch, and is read a little later.
TEST_F(ObservedStacksTest, AClockMayKnowAStackBeforeItsSampleComes) {
  for (const bool first : {true, false}) {
    SCOPED_TRACE(first);
    ObservedThread thread;
    ProfileBuilder builder(WindowStart(0), {});
    if (!first) {
      builder.AddSample(thread.Read(kStartNs + 1, 4));
      thread.Hold(20 * kMs);
    }
    const auto late = thread.Read(kStartNs + 10, 1);
    thread.Hold(10 * kMs);
    builder.AddClock(thread.ClockAt(1, kStartNs));
    builder.AddSample(late);
    thread.Hold(30 * kMs);
    builder.AddClock(thread.ClockAt(WindowEnd(0)));
    Found expected{{"f1", {50 * kMs, 5}}};
    if (!first) expected["f4"] = {30 * kMs, 3};
    EXPECT_EQ(FoundIn(builder.Build(WindowEnd(0), FrameOf)), expected);
  }
}

TEST_F(ObservedStacksTest, SamplesFromAfterTheEndDoNotCount) {
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  builder_.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  builder_.AddClock(thread_.ClockAt(WindowEnd(0)));
  builder_.AddSample(thread_.Read(kEndNs, 2));
  EXPECT_EQ(FoundIn(builder_.Build(WindowEnd(0), FrameOf)), (Found{{"f1", {10 * kMs, 1}}}));
}

TEST_F(ObservedStacksTest, OneOfManyThreadsGrowsByItsOwnEvents) {
  ObservedThread other({101, 78});
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  builder_.AddClock(other.ClockAt(WindowStart(0)));
  builder_.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  builder_.AddSample(other.Read(kStartNs + 100 * kMs, 2));
  other.Hold(40 * kMs);
  builder_.AddClock(other.ClockAt(WindowEnd(0)));
  const auto profile = BuildWithEnd();
  EXPECT_EQ(Weights(profile, 0, State::kBlocked),
            (std::map<std::string, std::uint64_t>{{"f1", 10 * kMs}}));
  EXPECT_EQ(Weights(profile, 1, State::kBlocked),
            (std::map<std::string, std::uint64_t>{{"f2", 50 * kMs}}));
}

TEST_F(ObservedStacksTest, SessionsOfTheOtherKindIgnoreIt) {
  ProfileBuilder exact(StartEvent(), {});
  exact.AddClock(thread_.ClockAt(WindowStart(0)));
  exact.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  exact.AddClock(thread_.ClockAt(WindowEnd(0)));
  EXPECT_EQ(exact.samples(), 0u);
  EXPECT_TRUE(exact.Build(EndEvent(), FrameOf).threads.empty());

  SyntheticThread waits(kMain, kProcess, 1000 * kMs);
  waits.Run(State::kBlocked, 5'000 * kMs, 2);
  waits.Run(State::kOnCpu, 20'000 * kMs, 3);
  std::mt19937_64 random(3);
  builder_.AddClock(waits.ClockAt(1, kStartNs));
  builder_.AddClock(waits.ClockAt(2, kEndNs));
  for (auto sample : waits.Samples(kPeriodNs, random)) {
    builder_.AddSample(sample);
    if (sample.sample.state != State::kBlocked) continue;
    sample.sample.snapshot = true;
    builder_.AddSample(sample);
  }
  const auto found = FoundIn(builder_.Build(WindowEnd(0), FrameOf));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found.contains("f3")) << "samples on the CPU are the same in both kinds";
}

TEST_F(ObservedStacksTest, AStackBeyondTheLimitGivesItsGrowthToNoOther) {
  ProfileBuilder small(WindowStart(0), {}, {.parts = 1, .nodes = 10, .threads = 10});
  small.AddClock(thread_.ClockAt(WindowStart(0)));
  small.AddSample(thread_.Read(kStartNs + 100 * kMs, 1));
  thread_.Hold(20 * kMs);
  small.AddSample(thread_.Read(kStartNs + 200 * kMs, 2));
  thread_.Hold(80 * kMs);
  small.AddClock(thread_.ClockAt(WindowEnd(0)));
  const auto profile = small.Build(WindowEnd(0), FrameOf);
  EXPECT_EQ(FoundIn(profile), (Found{{"f1", {30 * kMs, 3}}}));
  ExpectSumsEqualClocks(profile);
}

TEST_F(ObservedStacksTest, ShortLivedThreadsThatAreAlikeShareTheirStacks) {
  std::uint64_t blocked_ns = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    ObservedThread thread({200 + i, 90 + i});
    wire::ForkEvent fork;
    fork.header = thread.Header(kStartNs + 100 * kMs);
    builder_.AddFork(fork);
    if (i == 0) builder_.AddSample(thread.Read(kStartNs + 110 * kMs, 1));
    thread.Hold(5 * kMs);
    blocked_ns += (i == 0 ? 15 : 5) * kMs;
    auto end = thread.ClockAt(0, 0);
    end.header.time_ns = kStartNs + 120 * kMs;
    end.begin_ns = kStartNs + 100 * kMs;
    end.end = true;
    end.state = PROFD_STATE_DEAD;
    end.at_epoch = {};
    end.final.on_cpu_ns = 0;
    builder_.AddClock(end);
  }
  const auto profile = builder_.Build(WindowEnd(0), FrameOf);
  ASSERT_EQ(profile.threads.size(), 1u);
  EXPECT_EQ(profile.threads[0].group_size, 3u);
  EXPECT_EQ(Weights(profile, 0, State::kBlocked).at("f1"), blocked_ns);
}

TEST_F(ObservedStacksTest, SurvivesAbsurdTotals) {
  constexpr auto kMax = ~std::uint64_t{0};
  std::uint64_t held_ns = 0;
  for (const std::uint64_t number : {kMax - 1, kMax, kMax, std::uint64_t{0}, std::uint64_t{1}}) {
    auto sample = thread_.Read(kStartNs + kMs, 1);
    sample.sample.period_ns = kMax;
    sample.sample.observation = wire::Observation{.held_ns = held_ns, .stack_number = number};
    builder_.AddSample(sample);
    held_ns = kMax - held_ns;
  }
  const auto profile = BuildWithEnd();
  for (const auto& sample : profile.samples) {
    EXPECT_LE(sample.raw_weight_ns, kMaxWeightNs);
    EXPECT_NE(sample.count, 0u);
  }
}

TEST_F(ObservedStacksTest, ItsMemoryIsThatOfTheBuilder) {
  ProfileBuilder exact(StartEvent(), {});
  ObservedStacks alone(kStartNs, kPeriodNs);
  EXPECT_EQ(alone.bytes(), 0u);
  const std::size_t before = builder_.bytes();
  for (int i = 0; i < 100; ++i) builder_.AddSample(thread_.Read(kStartNs + kMs, 1));
  EXPECT_GE(builder_.bytes() - before, 100 * (sizeof(SamplePart) + sizeof(ObservedStacks::Entry)));
}

// Windows that follow each other, with one thread.
class ObservedWindows : public testing::Test {
 protected:
  // The clock of the epoch belongs to both, and comes before the end of the one before.
  void Begin(const std::function<void(ProfileBuilder&)>& before_end = [](auto&) {}) {
    const auto start = WindowStart(index_ + 1);
    ProfileBuilder next(start, {});
    builder_->AddClock(thread_.ClockAt(start));
    next.AddClock(thread_.ClockAt(start));
    before_end(next);
    next.ContinueFrom(*builder_, WindowEnd(index_));
    profile_ = builder_->Build(WindowEnd(index_), FrameOf);
    builder_.emplace(std::move(next));
    ++index_;
  }
  [[nodiscard]] std::uint64_t NowNs() const { return builder_->start().epoch_ns + 100 * kMs; }

  ObservedThread thread_;
  std::optional<ProfileBuilder> builder_{std::in_place, WindowStart(0), ProfileOrigin{}};
  Profile profile_;  // of the last window that has ended
  std::uint64_t index_ = 0;
};

TEST_F(ObservedWindows, OneStackGoesOnThroughMany) {
  builder_->AddClock(thread_.ClockAt(WindowStart(0)));
  builder_->AddSample(thread_.Read(NowNs(), 1));
  for (const std::uint64_t held_ms : {20, 30, 40, 5}) {
    thread_.Hold(held_ms * kMs);
    Begin();
    const bool first = index_ == 1;
    const std::uint64_t weight_ns = held_ms * kMs + (first ? kPeriodNs : 0);
    const auto count =
        static_cast<std::uint32_t>(std::max<std::uint64_t>(1, weight_ns / kPeriodNs));
    EXPECT_EQ(FoundIn(profile_), (Found{{"f1", {weight_ns, count}}}));
    EXPECT_EQ(Weights(profile_, 0, State::kBlocked).at("f1"), weight_ns);
    ExpectSumsEqualClocks(profile_);
    for (const auto& sample : profile_.samples) EXPECT_GE(sample.time_ns, profile_.start_ns);
  }
  builder_->RenumberFrames([](symbolize::FrameId id) { return id + 1; });
  thread_.Hold(10 * kMs);
  Begin();
  EXPECT_EQ(FoundIn(profile_), (Found{{"f2", {10 * kMs, 1}}}));
}

TEST_F(ObservedWindows, AStackWithoutTimeInAWindowIsNotShownThere) {
  builder_->AddClock(thread_.ClockAt(WindowStart(0)));
  builder_->AddSample(thread_.Read(NowNs(), 1));
  Begin();
  Begin();
  EXPECT_EQ(FoundIn(profile_), Found{});
  builder_->AddSample(thread_.Read(NowNs(), 2));
  Begin();
  EXPECT_EQ(FoundIn(profile_), (Found{{"f2", {10 * kMs, 1}}}));
}

TEST_F(ObservedWindows, WhatGrewBeforeTheStackIsTakenOverIsKept) {
  builder_->AddClock(thread_.ClockAt(WindowStart(0)));
  builder_->AddSample(thread_.Read(NowNs(), 1));
  thread_.Hold(10 * kMs);
  Begin([&](ProfileBuilder& next) {
    thread_.Hold(30 * kMs);
    next.AddSample(thread_.Read(next.start().epoch_ns + 50 * kMs, 2));
    thread_.Hold(40 * kMs);
    next.AddSample(thread_.Read(next.start().epoch_ns + 60 * kMs, 3));
  });
  EXPECT_EQ(FoundIn(profile_), (Found{{"f1", {20 * kMs, 2}}}));
  Begin();
  EXPECT_EQ(FoundIn(profile_),
            (Found{{"f1", {30 * kMs, 3}}, {"f2", {50 * kMs, 5}}, {"f3", {10 * kMs, 1}}}));
  ExpectSumsEqualClocks(profile_);
}

// The window before may know stacks from after its end already.
TEST_F(ObservedWindows, TheStackIsTheOneOfTheEpoch) {
  builder_->AddClock(thread_.ClockAt(WindowStart(0)));
  builder_->AddSample(thread_.Read(NowNs(), 1));
  Begin([&](ProfileBuilder& next) {
    thread_.Hold(30 * kMs);
    const auto late = thread_.Read(next.start().epoch_ns + 1, 2);
    builder_->AddSample(late);
    next.AddSample(late);
  });
  Begin();
  EXPECT_EQ(FoundIn(profile_), (Found{{"f1", {30 * kMs, 3}}, {"f2", {10 * kMs, 1}}}));
}

TEST_F(ObservedWindows, AStackWhoseSuccessorIsLostIsNotTakenOver) {
  builder_->AddClock(thread_.ClockAt(WindowStart(0)));
  builder_->AddSample(thread_.Read(NowNs(), 1));
  static_cast<void>(thread_.Read(NowNs(), 2));
  Begin();
  thread_.Hold(30 * kMs);
  Begin();
  EXPECT_EQ(FoundIn(profile_), Found{});
  EXPECT_EQ(Weights(profile_, 0, State::kBlocked).at(std::string(kNotSampled)), 30 * kMs);
}

TEST_F(ObservedWindows, AMovedSampleByTheSameNumberIsNotTheStack) {
  builder_->AddClock(thread_.ClockAt(WindowStart(0)));
  builder_->AddSample(thread_.Read(NowNs(), 1));
  builder_->AddSample(thread_.Move(NowNs() + kMs));
  // In the next one it comes before the stack is taken over.
  Begin([&](ProfileBuilder& next) {
    next.AddSample(thread_.Move(next.start().epoch_ns + 50 * kMs));
  });
  EXPECT_EQ(FoundIn(profile_), (Found{{"f1", {20 * kMs, 2}}}));
  thread_.Hold(30 * kMs);
  Begin();
  EXPECT_EQ(FoundIn(profile_), (Found{{"f1", {40 * kMs, 4}}}));
  thread_.Hold(30 * kMs);
  Begin();
  EXPECT_EQ(FoundIn(profile_), (Found{{"f1", {30 * kMs, 3}}}));
}

class MovedSamples : public ObservedStacksTest {
 protected:
  symbolize::SymbolizedSample ReadIn(std::int32_t syscall, std::uint32_t registers,
                                     symbolize::FrameId frame) {
    auto sample = thread_.Read(kStartNs + 100 * kMs, frame);
    sample.sample.syscall = syscall;
    sample.sample.observation->registers = registers;
    return sample;
  }
  symbolize::SymbolizedSample MoveIn(std::int32_t syscall, std::uint32_t registers) {
    return thread_.Move(kStartNs + 100 * kMs, syscall, registers);
  }
  void AddStacks() {
    builder_.AddClock(thread_.ClockAt(WindowStart(0)));
    builder_.AddSample(ReadIn(202, 1, 1));
    builder_.AddSample(ReadIn(202, 2, 2));
    thread_.Hold(20 * kMs);
    builder_.AddSample(ReadIn(0, 1, 3));
  }
};

TEST_F(MovedSamples, GoToTheStackOfTheSamePlace) {
  AddStacks();
  builder_.AddSample(MoveIn(202, 1));
  builder_.AddSample(MoveIn(202, 1));
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile),
            (Found{{"f1", {30 * kMs, 3}}, {"f2", {30 * kMs, 3}}, {"f3", {10 * kMs, 1}}}));
  EXPECT_EQ(Weights(profile, 0, State::kBlocked).at("f1"), 30 * kMs);
  ExpectSumsEqualClocks(profile);
}

TEST_F(MovedSamples, GoElseToTheStacksOfTheSameSyscall) {
  AddStacks();
  for (std::uint32_t i = 0; i < 4; ++i) builder_.AddSample(MoveIn(202, 100 + i));
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile),
            (Found{{"f1", {20 * kMs, 2}}, {"f2", {60 * kMs, 6}}, {"f3", {10 * kMs, 1}}}));
  ExpectSumsEqualClocks(profile);
}

TEST_F(MovedSamples, OfAnotherSyscallAreLeftToScaling) {
  AddStacks();
  builder_.AddSample(MoveIn(35, 1));
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile),
            (Found{{"f1", {10 * kMs, 1}}, {"f2", {30 * kMs, 3}}, {"f3", {10 * kMs, 1}}}));
  EXPECT_EQ(Weights(profile, 0, State::kBlocked).at("f2"), 36 * kMs);
  ExpectSumsEqualClocks(profile);
}

// Its registers could be those of any moment since the visit.
TEST_F(MovedSamples, WithoutRegistersAreLeftToScaling) {
  AddStacks();
  auto sample = MoveIn(202, 1);
  sample.sample.stack_flags |= PROFD_STACK_NO_USER;
  builder_.AddSample(sample);
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile),
            (Found{{"f1", {10 * kMs, 1}}, {"f2", {30 * kMs, 3}}, {"f3", {10 * kMs, 1}}}));
  ExpectSumsEqualClocks(profile);
}

TEST_F(MovedSamples, AreNeverShown) {
  builder_.AddClock(thread_.ClockAt(WindowStart(0)));
  builder_.AddSample(MoveIn(202, 1));
  builder_.AddSample(thread_.Read(kStartNs + 200 * kMs, 4, State::kRunnable));
  const auto profile = BuildWithEnd();
  EXPECT_EQ(FoundIn(profile), (Found{{"f4", {10 * kMs, 1}}}));
  EXPECT_EQ(Weights(profile, 0, State::kBlocked).at(std::string(kNotSampled)), 10 * kMs);
  ExpectSumsEqualClocks(profile);
}

}  // namespace
}  // namespace profd::aggregate
