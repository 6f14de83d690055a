// Threads whose schedules are known, sampled as the BPF side samples them, and the paths of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bpf/shared/points.h"
#include "daemon/aggregate/profile_builder.h"

namespace profd::aggregate {
namespace {

using process::State;
using process::WaitReason;

constexpr std::uint64_t kUs = 1'000;
constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kStartNs = 1'000 * kMs;
constexpr std::uint64_t kEndNs = 3'000 * kMs;
constexpr std::uint32_t kLevel = 20;  // some 2,000 points in the session
constexpr std::uint64_t kSeed = 4711;
constexpr ProcessKey kProcess{10, 1};

enum Name : std::uint32_t { kFutex, kHrtimer, kUnixSpace, kExit, kWork, kNames };

const symbolize::Frame& FrameOf(symbolize::FrameId id) {
  static const auto frames = [] {
    std::vector<symbolize::Frame> made(kNames);
    const char* names[] = {"futex_wake", "hrtimer_wakeup", "unix_write_space", "do_exit", "work"};
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].name = names[i];
      if (i != kWork) made[i].kind = symbolize::FrameKind::kKernel;
    }
    return made;
  }();
  return frames.at(id);
}

ThreadKey KeyOf(std::uint32_t thread) { return {100 + thread, 1}; }

// One thread's interval off the CPU.
struct Off {
  std::uint64_t begin_ns = 0;
  std::uint64_t woken_ns = 0;  // blocked until here; then runnable
  std::uint64_t end_ns = 0;
  int waker = -1;  // -1: a timer
  Name by = kFutex;
};

class World {
 public:
  explicit World(std::uint32_t threads) : off_(threads), members_(threads, true) {}

  void Add(std::uint32_t thread, Off off) { off_[thread].push_back(off); }
  void SetOutside(std::uint32_t thread) { members_[thread] = false; }
  void Lose(std::uint32_t thread, std::uint32_t number) { lost_ = {thread, number}; }

  // All events of that time in order, as a session gets them.
  Profile Run(std::uint64_t start_ns = kStartNs, std::uint64_t end_ns = kEndNs) {
    wire::SessionEvent start;
    start.mode = PROFD_SESSION_ON_CPU | PROFD_SESSION_OFF_CPU | PROFD_SESSION_WAKERS;
    start.epoch = 1;
    start.epoch_ns = start_ns;
    start.on_cpu_period_ns = start.off_cpu_period_ns = std::uint64_t{1} << kLevel;
    start.target = "pid 10";
    ProfileBuilder builder(start, ProfileOrigin{});
    wire::PeriodsEvent periods;
    periods.on_cpu_period_ns = periods.off_cpu_period_ns = std::uint64_t{1} << kLevel;
    periods.point_seed = kSeed;
    builder.SetEffectivePeriods(periods);
    for (std::uint32_t thread = 0; thread < off_.size(); ++thread)
      if (members_[thread]) builder.AddClock(ClockOf(thread, 1, start_ns));
    std::multimap<std::uint64_t, symbolize::SymbolizedSample> samples;
    for (std::uint32_t thread = 0; thread < off_.size(); ++thread) AddSamples(thread, samples);
    for (const auto& [time_ns, sample] : samples)
      if (time_ns >= start_ns && time_ns < end_ns) builder.AddSample(sample);
    for (std::uint32_t thread = 0; thread < off_.size(); ++thread)
      if (members_[thread]) builder.AddClock(ClockOf(thread, 2, end_ns));
    wire::SessionEvent end = start;
    end.end = true;
    end.epoch = 2;
    end.epoch_ns = end_ns;
    return builder.Build(end, FrameOf);
  }

 private:
  void AddSamples(std::uint32_t thread,
                  std::multimap<std::uint64_t, symbolize::SymbolizedSample>& samples) {
    std::uint32_t number = 0;
    for (const Off& off : off_[thread]) {
      const auto blocked =
          static_cast<std::uint32_t>(profd_points_in(kSeed, kLevel, off.begin_ns, off.woken_ns));
      const auto runnable =
          static_cast<std::uint32_t>(profd_points_in(kSeed, kLevel, off.woken_ns, off.end_ns));
      if (blocked + runnable == 0) continue;
      symbolize::SymbolizedSample sample = Begin(thread, off.end_ns);
      sample.sample.state = off.woken_ns > off.begin_ns ? State::kBlocked : State::kRunnable;
      if (sample.sample.state == State::kBlocked) sample.sample.wait = WaitReason::kLock;
      sample.sample.begin_ns = off.begin_ns;
      sample.sample.runnable_ns = off.end_ns - off.woken_ns;
      sample.sample.period_ns = std::uint64_t{1} << kLevel;
      sample.sample.blocked_points = blocked;
      sample.sample.runnable_points = runnable;
      sample.sample.number = ++number;
      if (!members_[thread]) sample.sample.followed_sessions = 1;
      sample.frames = {kWork};
      symbolize::SymbolizedSample waker =
          Begin(static_cast<std::uint32_t>(std::max(off.waker, 0)), off.woken_ns);
      waker.sample.wake_up = wire::WakeUp{.wakee = KeyOf(thread),
                                          .begin_ns = off.begin_ns,
                                          .comm = "t" + std::to_string(off.waker),
                                          .interrupt = off.waker < 0};
      waker.frames = {off.waker < 0 ? symbolize::FrameId{kHrtimer} : symbolize::FrameId{off.by}};
      // First the wake-up, then the sample, though both be at one time.
      if (blocked != 0) samples.emplace(off.woken_ns, waker);
      if (lost_ != std::pair(thread, number)) samples.emplace(off.end_ns, sample);
    }
  }

  static symbolize::SymbolizedSample Begin(std::uint32_t thread, std::uint64_t time_ns) {
    symbolize::SymbolizedSample sample;
    sample.sample.thread = KeyOf(thread);
    sample.sample.process = kProcess;
    sample.sample.sessions = 1;
    sample.sample.time_ns = time_ns;
    return sample;
  }

  [[nodiscard]] wire::ClockEvent ClockOf(std::uint32_t thread, std::uint64_t epoch,
                                         std::uint64_t time_ns) const {
    wire::ClockEvent event;
    event.header.thread = KeyOf(thread);
    event.header.process = kProcess;
    event.header.sessions = 1;
    event.header.time_ns = time_ns;
    event.epoch = epoch;
    event.epoch_ns = time_ns;
    event.begin_ns = 1;
    event.since_ns = time_ns;
    event.comm = "t" + std::to_string(thread);
    profd_clock& clock = event.at_epoch;
    clock.on_cpu_ns = time_ns - 1;
    for (const Off& off : off_[thread]) {
      if (off.end_ns > time_ns) break;
      clock.blocked_ns[PROFD_INTERRUPTIBLE] += off.woken_ns - off.begin_ns;
      clock.runnable_ns[PROFD_AFTER_WAKEUP] += off.end_ns - off.woken_ns;
      clock.on_cpu_ns -= off.end_ns - off.begin_ns;
    }
    event.final = clock;
    return event;
  }

  std::vector<std::vector<Off>> off_;
  std::vector<bool> members_;
  std::pair<std::uint32_t, std::uint32_t> lost_{~0u, 0};
};

std::string TextOf(const Profile& profile, std::uint32_t path) {
  static const std::map<PathKind, std::string> kKinds{
      {PathKind::kWaits, "waits"},       {PathKind::kRuns, "runs"},
      {PathKind::kNoCpu, "no cpu"},      {PathKind::kTimer, "timer"},
      {PathKind::kStillWaits, "still"},  {PathKind::kNotFollowed, "not followed"},
      {PathKind::kNotSeen, "not seen"},  {PathKind::kLost, "lost"},
      {PathKind::kOtherUser, "foreign"}, {PathKind::kTooLong, "too long"}};
  std::string text;
  for (; path != 0; path = profile.paths[path].parent) {
    const PathNode& node = profile.paths[path];
    std::string step = kKinds.at(node.kind);
    if (node.thread != 0) step = profile.path_threads[node.thread - 1].comm + " " + step;
    text = step + (text.empty() ? "" : " < ") + text;
  }
  return text;
}

// Points of a thread's blocked samples by path.
std::map<std::string, std::uint64_t> PathsOf(const Profile& profile, std::uint32_t thread) {
  std::map<std::string, std::uint64_t> points;
  for (const ProfileSample& sample : profile.samples)
    if (profile.threads[sample.thread].key == KeyOf(thread) && sample.state == State::kBlocked &&
        sample.count != 0)
      points[TextOf(profile, sample.path)] += sample.count;
  return points;
}

// C sleeps for 4 ms and computes for 2, then B computes for 3; A waits all the time.
constexpr std::uint32_t kA = 0;
constexpr std::uint32_t kB = 1;
constexpr std::uint32_t kC = 2;

struct Chain {
  Chain() : world(3) {
    for (std::uint64_t at = kStartNs; at + 9 * kMs + 40 * kUs <= kEndNs; at += 9 * kMs + 40 * kUs) {
      const std::uint64_t c_runs = at + 4 * kMs;
      const std::uint64_t b_runs = c_runs + 2 * kMs;
      const std::uint64_t a_runs = b_runs + 3 * kMs;
      const std::uint64_t next = a_runs + 40 * kUs;
      world.Add(kC, {at, c_runs, c_runs, -1});
      world.Add(kC, {b_runs, a_runs + 20 * kUs, next, static_cast<int>(kA)});
      world.Add(kB, {at, b_runs, b_runs, static_cast<int>(kC)});
      world.Add(kB, {a_runs, a_runs + 1, next, static_cast<int>(kA)});
      world.Add(kA, {at, a_runs, a_runs, static_cast<int>(kB)});
      timer += profd_points_in(kSeed, kLevel, at, c_runs);
      c += profd_points_in(kSeed, kLevel, c_runs, b_runs);
      b += profd_points_in(kSeed, kLevel, b_runs, a_runs);
    }
  }
  World world;
  std::uint64_t timer = 0, c = 0, b = 0;
};

TEST(WaitPathsTest, EachPointOfAChainEndsWhereItsTimeGoes) {
  Chain chain;
  const Profile profile = chain.world.Run();
  const std::map<std::string, std::uint64_t> expected{{"t1 waits < t2 waits < timer", chain.timer},
                                                      {"t1 waits < t2 runs", chain.c},
                                                      {"t1 runs", chain.b}};
  EXPECT_EQ(PathsOf(profile, kA), expected);
}

TEST(WaitPathsTest, ThePartsAddUpToTheBlockedTime) {
  Chain chain;
  const Profile profile = chain.world.Run();
  ASSERT_TRUE(profile.wakers);
  for (std::uint32_t i = 0; i < profile.threads.size(); ++i) {
    std::uint64_t sum = 0;
    for (const ProfileSample& sample : profile.samples)
      if (sample.thread == i && sample.state == State::kBlocked) sum += sample.weight_ns;
    EXPECT_EQ(sum, StateClock(profile.threads[i].clock, State::kBlocked));
  }
}

// As the history has it: a window ends while A and B wait and C runs.
TEST(WaitPathsTest, APointInAWaitThatBeganInTheWindowBeforeHasItsPath) {
  Chain chain;
  constexpr std::uint64_t kCycleNs = 9 * kMs + 40 * kUs;
  const std::uint64_t border_ns = kStartNs + 100 * kCycleNs + 5 * kMs;
  const Profile window = chain.world.Run(border_ns, kEndNs);
  std::map<std::string, std::uint64_t> paths = PathsOf(window, kA);
  EXPECT_EQ(paths.size(), 3u) << "nothing is not known";
  EXPECT_GT(paths["t1 waits < t2 runs"], 0u);
  std::uint64_t in_c_of_the_first = profd_points_in(kSeed, kLevel, border_ns, border_ns + kMs);
  std::uint64_t in_b_of_the_first =
      profd_points_in(kSeed, kLevel, border_ns + kMs, border_ns + 4 * kMs);
  std::uint64_t first = 0;
  for (const ProfileSample& sample : window.samples)
    if (window.threads[sample.thread].key == KeyOf(kA) && sample.state == State::kBlocked &&
        sample.time_ns < border_ns + 4 * kMs)
      first += sample.path != 0 ? 1 : 0;
  EXPECT_EQ(first, (in_c_of_the_first != 0 ? 1u : 0u) + (in_b_of_the_first != 0 ? 1u : 0u));
}

TEST(WaitPathsTest, WhoIsOutsideTheSessionIsFollowedFromItsFirstWakeUpOn) {
  Chain chain;
  chain.world.SetOutside(kB);
  chain.world.SetOutside(kC);
  const Profile profile = chain.world.Run();
  ASSERT_EQ(profile.threads.size(), 1u);
  auto paths = PathsOf(profile, kA);
  // B is known from the end of A's first wait on, which has 9 points at most.
  EXPECT_LE(paths["t1 not followed"], 10u);
  EXPECT_GE(paths["t1 runs"], chain.b - 10);
  EXPECT_GE(paths["t1 waits < t2 waits < timer"], chain.timer - 20);
}

TEST(WaitPathsTest, WhereASampleOfTheWorkerIsLostItDoesNotRun) {
  Chain chain;
  chain.world.Lose(kB, 50);
  const Profile profile = chain.world.Run();
  auto paths = PathsOf(profile, kA);
  EXPECT_GT(paths["t1 lost"], 0u);
  EXPECT_LE(paths["t1 runs"], chain.b);
}

TEST(WaitPathsTest, AWakeUpThatGivesNothingJoinsTheWaitThatGoesOn) {
  World world(3);
  // Every other wake-up only says that there is space to write; the waiter sleeps on at once.
  for (std::uint64_t at = kStartNs; at + 10 * kMs <= kEndNs; at += 10 * kMs) {
    const std::uint64_t half = at + 5 * kMs;
    world.Add(kA, {at, half, half, static_cast<int>(kB), kUnixSpace});
    world.Add(kA, {half + 2 * kUs, at + 9 * kMs, at + 9 * kMs, static_cast<int>(kC)});
  }
  const Profile profile = world.Run();
  const auto paths = PathsOf(profile, kA);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths.begin()->first, "t2 runs");
  std::uint64_t spurious = 0;
  for (const WakeUpCount& count : profile.wake_ups) spurious += count.spurious;
  EXPECT_EQ(spurious, 200u);
}

TEST(WaitPathsTest, TwoThreadsThatWakeEachOtherEnd) {
  World world(2);
  for (std::uint64_t at = kStartNs; at + 4 * kMs <= kEndNs; at += 4 * kMs) {
    world.Add(kA, {at, at + 2 * kMs, at + 2 * kMs, static_cast<int>(kB)});
    world.Add(kB, {at + 2 * kMs, at + 4 * kMs, at + 4 * kMs, static_cast<int>(kA)});
  }
  const Profile profile = world.Run();
  const auto paths = PathsOf(profile, kA);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths.begin()->first, "t1 runs");
}

TEST(WaitPathsTest, ALongWaitForABusyWorkerIsCutWhereTheWorkerChanges) {
  World world(2);
  std::uint64_t runs = 0;
  std::uint64_t sleeps = 0;
  const std::uint64_t end = kStartNs + 500 * kMs;
  world.Add(kA, {kStartNs, end, end, static_cast<int>(kB)});
  for (std::uint64_t at = kStartNs; at < end; at += 10 * kMs) {
    world.Add(kB, {at, at + 7 * kMs, at + 7 * kMs, -1});
    sleeps += profd_points_in(kSeed, kLevel, at, at + 7 * kMs);
    runs += profd_points_in(kSeed, kLevel, at + 7 * kMs, at + 10 * kMs);
  }
  const Profile profile = world.Run();
  auto paths = PathsOf(profile, kA);
  // 64 of some 477 points stand for all: 3 sigma of a share of 0.3 are 0.17.
  const double share = static_cast<double>(paths["t1 runs"]) / static_cast<double>(runs + sleeps);
  EXPECT_NEAR(share, 0.3, 0.17);
  EXPECT_EQ(paths["t1 runs"] + paths["t1 waits < timer"], runs + sleeps);
}

}  // namespace
}  // namespace profd::aggregate
