// Snapshot mode: sessions whose threads are visited by observers, and no program at a switch.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bpf/shared/observer.h"
#include "bpf/shared/points.h"
#include "tests/root/source/live_test.h"
#include "tests/root/source/stuck_file.h"
#include "tests/support/eventually.h"

namespace profd::source {
namespace {

using wire::ClockEvent;
using wire::SampleOrigin;
using wire::StackEvent;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kLongNs = std::uint64_t{1} << PROFD_LONG_LEVEL;

// By both kinds of observers; kernels that have the better one can do the other, too.
class ObserveTest : public LiveTest, public testing::WithParamInterface<ObserverKind> {
 protected:
  static void SetUpTestSuite() {}
  static void TearDownTestSuite() { live_.reset(); }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root";
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "observers need two CPUs";
    if (!live_ || kind_ != GetParam()) {
      live_.reset();  // ends the other one first
      auto live = LiveSource::Start({.best_observers = GetParam()});
      ASSERT_TRUE(live) << live.error().message << "\n" << live.error().hint;
      live_ = *std::move(live);
      kind_ = GetParam();
    }
    ASSERT_TRUE(live_->source().can_observe());
    if (live_->source().observer_kind() != GetParam())
      GTEST_SKIP() << "programs of this kernel cannot iterate over tasks";
  }
  static session::SessionSpec Observed(std::uint64_t period_ns) {
    session::SessionSpec spec = SpecOf("all +kernel");
    spec.background = true;
    spec.observed = true;
    spec.off_cpu_period_ns = period_ns;
    return spec;
  }
  static inline ObserverKind kind_ = ObserverKind::kNone;
  static std::uint64_t Switches() { return live_->source().Status().switches; }
};

// All of the session, also those from before its exact start: they hold on.
std::vector<StackEvent> Observations(const Heard& heard, std::uint32_t tid) {
  std::vector<StackEvent> stacks = heard.All<StackEvent>();
  std::erase_if(stacks, [&](const StackEvent& stack) {
    return !stack.observation || stack.header.thread.tid != tid ||
           (stack.header.sessions >> heard.start.session & 1) == 0;
  });
  return stacks;
}

// How often the first thread of the process has gone to sleep, as the kernel counts it.
std::uint64_t SleepsOf(std::uint32_t pid) {
  constexpr std::string_view kLine = "\nvoluntary_ctxt_switches:\t";
  const auto status = ProcFs().Read(std::to_string(pid) + "/status");
  const auto at = status ? status->find(kLine) : std::string::npos;
  return at == std::string::npos ? 0 : std::stoull(status->substr(at + kLine.size()));
}

// The arguments of the system call say which sleep it is.
void Sleep(const timespec* length) { ::clock_nanosleep(CLOCK_MONOTONIC, 0, length, nullptr); }

TEST_P(ObserveTest, NoProgramRunsAtASwitch) {
  const Puppet puppet([](const Puppet::Strings&) {
    while (true) ::usleep(500);
  });
  const auto observed = live_->Begin(Observed(8 * kMs));
  // Hooks of an earlier test stay attached for a while.
  ASSERT_TRUE(test::Eventually([] { return !live_->source().has_switch_hooks(); }));
  const std::uint64_t before = Switches();
  const std::uint64_t slept = SleepsOf(puppet.pid());
  ASSERT_TRUE(test::Eventually([&] { return SleepsOf(puppet.pid()) >= slept + 1'000; }));
  EXPECT_EQ(Switches(), before);

  const auto requested = live_->Begin(SpecOf(puppet));
  EXPECT_TRUE(live_->source().has_switch_hooks());
  EXPECT_TRUE(test::Eventually([&] { return Switches() > before; }));
  EXPECT_TRUE(live_->AwaitStacks(requested, 20, [&](const StackEvent& stack) {
    return stack.origin == SampleOrigin::kOffCpu && !stack.observation &&
           stack.header.process.pid == puppet.pid();
  }));
  const Heard exact = live_->End(requested);
  const auto start = exact.AtStart(puppet.pid());
  const auto end = exact.AtEnd(puppet.pid());
  ASSERT_TRUE(start && end);
  EXPECT_EQ(SumOf(Growth(start->at_epoch, end->at_epoch)), exact.ElapsedNs());
  EXPECT_GT(exact.Stacks(puppet.pid(), SampleOrigin::kOffCpu).size(), 0u);
  (void)live_->End(observed);
}

// A thread that is blocked all the time is visited once in a long period, or at each point of it:
// either way the weights of a long period are its length.
TEST_P(ObserveTest, AStackHoldsForAsLongAsItsThreadDoesNotMove) {
  const Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  puppet.AwaitState('S');
  const auto session = live_->Begin(Observed(8 * kMs));
  std::this_thread::sleep_for(std::chrono::milliseconds(4'500));  // of four long periods
  const Heard heard = live_->End(session);
  const auto stacks = Observations(heard, puppet.pid());
  const auto start = heard.AtStart(puppet.pid());
  const auto end = heard.AtEnd(puppet.pid());
  ASSERT_TRUE(start && end && start->observation && end->observation);
  ASSERT_GE(stacks.size(), 1u);
  std::uint64_t weight_ns = end->observation->held_ns - start->observation->held_ns;
  for (const StackEvent& stack : stacks) {
    if (stack.header.time_ns >= heard.start.epoch_ns) weight_ns += stack.period_ns;
    EXPECT_EQ(stack.stack_flags & (PROFD_STACK_MOVED | PROFD_STACK_KERNEL_FAILED), 0);
    EXPECT_EQ(stack.syscall, 0) << "read";
    EXPECT_GT(stack.kernel_frames.size(), 2u);
  }
  EXPECT_EQ(end->observation->stack_number, stacks.back().observation->stack_number);
  // Long periods that lie inside the session count whole; one on each side may count or not.
  EXPECT_NEAR(static_cast<double>(weight_ns), static_cast<double>(heard.ElapsedNs()),
              static_cast<double>(2 * kLongNs));
  EXPECT_LE(stacks.size(), 1u + 4u) << "it is read again only while unwind tables are missing";
  const profd_clock grown = Growth(start->at_epoch, end->at_epoch);
  EXPECT_EQ(BlockedOf(grown), heard.ElapsedNs()) << "it did nothing else";
}

// Windows of one session after the other: the kernel's own sums, exact where the thread sleeps.
TEST_P(ObserveTest, ClocksOfWindowsAddUp) {
  const std::vector<std::uint64_t> spins{40 * kMs, 120 * kMs, 10 * kMs};
  const Puppet puppet(SpinPhases(spins));
  puppet.AwaitState('S');
  std::vector<std::uint32_t> sessions{live_->Begin(Observed(8 * kMs))};
  std::vector<std::uint64_t> cpu_ns;
  for (std::size_t window = 0; window < spins.size(); ++window) {
    puppet.Go();
    cpu_ns.push_back(puppet.Hear(1)[0]);
    puppet.AwaitState('S');
    if (window + 1 < spins.size()) sessions.push_back(live_->Roll(sessions.back()));
  }
  std::vector<Heard> heard;
  for (std::size_t window = 0; window + 1 < spins.size(); ++window)
    heard.push_back(live_->Await(sessions[window]));
  heard.push_back(live_->End(sessions.back()));
  std::uint64_t elapsed_ns = 0;
  for (std::size_t i = 0; i < heard.size(); ++i) {
    const auto start = heard[i].AtStart(puppet.pid());
    const auto end = heard[i].AtEnd(puppet.pid());
    ASSERT_TRUE(start && end) << i;
    ASSERT_TRUE(start->observation && end->observation) << i;
    const profd_clock grown = Growth(start->at_epoch, end->at_epoch);
    EXPECT_EQ(SumOf(grown), heard[i].ElapsedNs()) << "closes, window " << i;
    EXPECT_GE(grown.on_cpu_ns, cpu_ns[i]) << "its phase is in its own window " << i;
    elapsed_ns += heard[i].ElapsedNs();
  }
  EXPECT_EQ(elapsed_ns, heard.back().end.epoch_ns - heard.front().start.epoch_ns) << "no gap";
}

// The kernel's sum of a thread lacks up to a tick where it ends; its own clock says how much it
// ran.
TEST_P(ObserveTest, ClocksOfShortLivesAreWhole) {
  constexpr int kLives = 200;
  constexpr std::uint64_t kSpinNs = 3 * kMs;
  const Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    std::uint64_t cpu_ns = 0;
    for (int i = 0; i < kLives; ++i) {
      std::uint64_t spun_ns = 0;
      std::thread thread([&] {
        // The time that its own last look at its clock does not refresh the sum for.
        const std::uint64_t until = MonotonicNs() + kSpinNs;
        const std::uint64_t begin = MonotonicNs();
        std::uint64_t now = begin;
        while (now < until) now = MonotonicNs();
        spun_ns = now - begin;
      });
      thread.join();
      cpu_ns += spun_ns;
    }
    // A thread that is joined may still be on its way out. Its end is reported before it leaves
    // /proc.
    const auto is_alone = [] {
      const std::filesystem::directory_iterator threads("/proc/self/task");
      return std::distance(threads, std::filesystem::directory_iterator()) == 1;
    };
    (void)test::Eventually(is_alone);
    strings.Say({cpu_ns});
    strings.Wait();
  });
  const auto session = live_->Begin(Observed(8 * kMs));
  puppet.Go();
  const std::uint64_t spun_ns = puppet.Hear(1)[0];
  const Heard heard = live_->End(session);
  // The end is reported where the thread exits, and once more when the kernel has freed it.
  std::map<std::uint32_t, ClockEvent> ends;
  for (const ClockEvent& clock : heard.All<ClockEvent>()) {
    if (!clock.end || clock.header.process.pid != puppet.pid() || !clock.observation) continue;
    const auto [end, first] = ends.try_emplace(clock.header.thread.tid, clock);
    if (first) {
      EXPECT_EQ(SumOf(clock.final), clock.header.time_ns - clock.begin_ns) << "closes";
      continue;
    }
    EXPECT_GE(clock.final.on_cpu_ns, end->second.final.on_cpu_ns);
    EXPECT_EQ(BlockedOf(clock.final), BlockedOf(end->second.final));
    end->second = clock;
  }
  EXPECT_EQ(ends.size(), static_cast<std::size_t>(kLives));
  std::uint64_t lived_ns = 0;
  // Preempted or not: the time that it has spun for it was on a CPU or waited for one.
  for (const auto& [tid, end] : ends)
    lived_ns += end.final.on_cpu_ns + StolenOf(end.final) + RunnableOf(end.final);
  EXPECT_GE(lived_ns, spun_ns);
}

// Two waits that alternate: each visit finds the thread in one of them, by the part of the time
// that it takes. What the visits say is held against what the thread itself has measured.
TEST_P(ObserveTest, SharesOfAlternatingWaitsAreTrue) {
  static const timespec kShort{0, 3'000'000};
  static const timespec kLong{0, 7'000'000};
  constexpr int kRounds = 400;
  const Puppet puppet([](const Puppet::Strings& strings) {
    std::uint64_t short_ns = 0;
    std::uint64_t long_ns = 0;
    strings.Wait();
    for (int i = 0; i < kRounds; ++i) {
      const std::uint64_t begin = MonotonicNs();
      Sleep(&kShort);
      const std::uint64_t middle = MonotonicNs();
      Sleep(&kLong);
      short_ns += middle - begin;
      long_ns += MonotonicNs() - middle;
    }
    strings.Say({short_ns, long_ns});
    strings.Wait();
  });
  const auto session = live_->Begin(Observed(kMs));
  puppet.Go();
  const auto truth = puppet.Hear(2);
  const Heard heard = live_->End(session);
  std::map<std::uint64_t, double> weights;  // by the argument
  double sum = 0;
  std::size_t visits = 0;
  const auto stacks = Observations(heard, puppet.pid());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    const StackEvent& stack = stacks[i];
    const auto held_until =
        i + 1 < stacks.size() ? stacks[i + 1].observation : heard.AtEnd(puppet.pid())->observation;
    if (stack.syscall != SYS_clock_nanosleep) continue;
    const double weight = static_cast<double>(stack.period_ns) +
                          static_cast<double>(held_until->held_ns - stack.observation->held_ns);
    weights[stack.syscall_args[2]] += weight;
    sum += weight;
    ++visits;
  }
  const double share = weights[reinterpret_cast<std::uint64_t>(&kShort)] / sum;
  const double expected = static_cast<double>(truth[0]) / static_cast<double>(truth[0] + truth[1]);
  // Waits of several periods: fewer draws than visits, so this is the wider bound.
  const double error = std::sqrt(expected * (1 - expected) / static_cast<double>(visits));
  EXPECT_NEAR(share, expected, 5 * error) << visits << " stacks";
  EXPECT_NEAR(sum, static_cast<double>(truth[0] + truth[1]), 2.0 * static_cast<double>(kLongNs));
}

// One visit for a whole second would be all that is known of the first one.
TEST_P(ObserveTest, AClientSeesThreadsAtEachPointFromTheStart) {
  static const timespec kLength{0, 5'000'000};
  constexpr int kRounds = 300;
  // After two long periods it is not new any more, and as it does not switch, it is visited once in
  // each.
  static const timespec kAge{static_cast<time_t>(2 * kLongNs / 1'000'000'000 + 1), 0};
  const Puppet puppet([](const Puppet::Strings& strings) {
    Sleep(&kAge);
    strings.Say({1});
    strings.Wait();
    for (int i = 0; i < kRounds; ++i) Sleep(&kLength);
    strings.Say({1});
    strings.Wait();
  });
  (void)puppet.Hear(1);
  session::SessionSpec spec = Observed(kMs);
  spec.target = SpecOf("pid " + std::to_string(puppet.pid())).target;
  spec.background = false;
  const auto session = live_->Begin(spec);
  puppet.Go();
  (void)puppet.Hear(1);
  const Heard heard = live_->End(session);
  const auto stacks = Observations(heard, puppet.pid());
  EXPECT_GT(stacks.size(), std::size_t{kRounds} / 2);
  for (const StackEvent& stack : stacks)
    EXPECT_LT(stack.period_ns, kLongNs) << stack.header.time_ns - heard.start.epoch_ns;
}

// Who visits it hangs, beyond the reach of a signal: that observer is replaced, and the process
// left alone.
TEST_P(ObserveTest, AProcessWhoseMemoryHangsCostsOthersNoVisits) {
  const auto file = StuckFile::Mount();
  if (!file) GTEST_SKIP() << file.error().message;
  const auto session = live_->Begin(Observed(8 * kMs));
  const std::uint64_t before = live_->source().Status().counters[PROFD_COUNTER_SNAPSHOT_TIMEOUT];
  const Puppet hostile(Hanging((*file)->path()));
  ASSERT_EQ(hostile.Hear(1)[0], 1u);
  const auto timeouts = [] {
    return live_->source().Status().counters[PROFD_COUNTER_SNAPSHOT_TIMEOUT];
  };
  ASSERT_TRUE(test::Eventually([&] { return timeouts() > before; }));
  // Others are visited, as soon as the observer is replaced.
  const Puppet harmless([](const Puppet::Strings& strings) { strings.Wait(); });
  harmless.AwaitState('S');
  const Heard heard = live_->End(session);
  EXPECT_TRUE(test::Eventually([&] {
    const auto next = live_->Begin(Observed(8 * kMs));
    // So long is the session: it has some points. One without a visit is followed by another.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return !Observations(live_->End(next), harmless.pid()).empty();
  }));
  // Before it slept like that, it could be read.
  for (const StackEvent& stack : Observations(heard, hostile.pid()))
    EXPECT_TRUE(stack.syscall != SYS_nanosleep || stack.user_frames.empty());
}

INSTANTIATE_TEST_SUITE_P(Observers, ObserveTest,
                         testing::Values(ObserverKind::kProgram, ObserverKind::kIterator),
                         [](const auto& kind) {
                           return kind.param == ObserverKind::kProgram ? "program" : "iterator";
                         });

}  // namespace
}  // namespace profd::source
