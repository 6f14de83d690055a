#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using SessionTest = LiveTest;
using wire::ClockEvent;
using wire::CountersEvent;
using wire::SampleOrigin;
using wire::SessionEvent;

constexpr std::uint64_t kMs = 1'000'000;

Puppet::Body Spinner() {
  return [](const Puppet::Strings&) { Spin(3'600'000 * kMs); };
}

// A byte goes to a child process and back, so often.
void PassToAndFro(int rounds) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  if (::pipe(there.data()) != 0 || ::pipe(back.data()) != 0) std::abort();
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  char byte = 0;
  if (child == 0) {
    ::close(there[1]);
    while (::read(there[0], &byte, 1) == 1 && ::write(back[1], &byte, 1) == 1) {
    }
    ::_exit(0);
  }
  for (int i = 0; i < rounds; ++i)
    if (::write(there[1], &byte, 1) != 1 || ::read(back[0], &byte, 1) != 1) std::abort();
  ::close(there[1]);
  ::waitpid(child, nullptr, 0);
}

// Index of the first event for which `is` is true; -1: none.
template <typename Predicate>
std::ptrdiff_t IndexOf(const Heard& heard, Predicate is) {
  const auto found = std::ranges::find_if(heard.events, is);
  return found == heard.events.end() ? -1 : found - heard.events.begin();
}

TEST_F(SessionTest, EventsStandInDueOrder) {
  const Puppet puppet(Spinner());
  session::SessionSpec spec = SpecOf(puppet);
  spec.on_cpu_period_ns = kMs;
  const auto session = live_->Begin(spec);
  ASSERT_TRUE(puppet.AwaitCpu(200 * kMs));
  const Heard heard = live_->End(session);

  const auto start = IndexOf(heard, [&](const wire::Event& event) {
    const auto* of = std::get_if<SessionEvent>(&event);
    return of != nullptr && of->session == session && !of->end;
  });
  const auto end = IndexOf(heard, [&](const wire::Event& event) {
    const auto* of = std::get_if<SessionEvent>(&event);
    return of != nullptr && of->session == session && of->end;
  });
  ASSERT_GE(start, 0);
  ASSERT_GT(end, start);
  // The clocks at its epoch follow it, even after sorting by time.
  EXPECT_EQ(heard.start.header.time_ns, heard.start.epoch_ns);
  EXPECT_TRUE(
      std::holds_alternative<CountersEvent>(heard.events[static_cast<std::size_t>(end) - 1]));
  EXPECT_EQ(IndexOf(heard,
                    [&](const wire::Event& event) {
                      return std::holds_alternative<wire::ProcessEvent>(event);
                    }) < start,
            true);
  // Everything up to the end's epoch comes before the end.
  for (std::size_t i = static_cast<std::size_t>(end) + 1; i < heard.events.size(); ++i) {
    const auto* stack = std::get_if<wire::StackEvent>(&heard.events[i]);
    EXPECT_TRUE(stack == nullptr || stack->header.time_ns > heard.end.epoch_ns);
  }
  EXPECT_GT(heard.Stacks(puppet.pid(), SampleOrigin::kOnCpu).size(), 20u);
}

TEST_F(SessionTest, SaysWhatItIsAndWhatItCost) {
  const Puppet puppet(Spinner());
  session::SessionSpec spec = SpecOf(puppet, " +children");
  spec.on_cpu_period_ns = 2 * kMs;
  spec.off_cpu_period_ns = 3 * kMs;
  const auto session = live_->Begin(spec);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // so long is the session
  const Heard heard = live_->End(session);
  EXPECT_EQ(heard.start.target, "pid " + std::to_string(puppet.pid()) + " +children");
  EXPECT_EQ(heard.start.mode, 3u);
  EXPECT_EQ(heard.start.on_cpu_period_ns, 2 * kMs);
  EXPECT_EQ(heard.start.off_cpu_period_ns, 1u << 22) << "the nearest one";
  EXPECT_EQ(heard.end.epoch > heard.start.epoch, true);
  EXPECT_GE(heard.ElapsedNs(), 50 * kMs);
  EXPECT_GT(heard.end.own_cpu_ns, heard.start.own_cpu_ns);
  EXPECT_NE(heard.start.hook, 0u);
}

// profd times one switch of many, so only many switches are sure to include timed ones.
TEST_F(SessionTest, ItsProgramsCostWhatManySwitchesTake) {
  constexpr int kRounds = 20'000;
  const Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    PassToAndFro(kRounds);
    strings.Say({1});
  });
  const auto session = live_->Begin(SpecOf(puppet, " +children"));
  puppet.Go();
  ASSERT_EQ(puppet.Hear(1).front(), 1u);
  const Heard heard = live_->End(session);
  const std::uint64_t cost_ns = heard.end.bpf_cost_ns - heard.start.bpf_cost_ns;
  EXPECT_GT(heard.end.bpf_cost_ns, heard.start.bpf_cost_ns);
  // They run on CPUs, each on one at a time.
  EXPECT_LT(cost_ns, heard.ElapsedNs() * std::thread::hardware_concurrency());
}

TEST_F(SessionTest, SeveralAtOnceEachHearsOfItsOwn) {
  const Puppet a(Spinner());
  const Puppet b(Spinner());
  session::SessionSpec coarse = SpecOf(a);
  coarse.on_cpu_period_ns = 20 * kMs;
  session::SessionSpec fine = SpecOf(b);
  fine.on_cpu_period_ns = 2 * kMs;
  fine.off_cpu = false;
  const auto first = live_->Begin(coarse);
  const auto second = live_->Begin(fine);
  const auto both =
      live_->Begin(SpecOf("pid " + std::to_string(a.pid()) + "," + std::to_string(b.pid())));
  ASSERT_TRUE(a.AwaitCpu(300 * kMs) && b.AwaitCpu(300 * kMs));
  const Heard of_second = live_->End(second);
  const Heard of_first = live_->End(first);
  const Heard of_both = live_->End(both);

  EXPECT_EQ(of_second.start.mode, 1u);
  EXPECT_TRUE(of_first.AtStart(a.pid()) && of_first.AtEnd(a.pid()));
  EXPECT_TRUE(of_second.AtStart(b.pid()) && of_second.AtEnd(b.pid()));
  EXPECT_TRUE(of_both.AtStart(a.pid()) && of_both.AtStart(b.pid()));
  EXPECT_TRUE(of_first.Stacks(b.pid(), SampleOrigin::kOnCpu).empty());
  EXPECT_TRUE(of_second.Stacks(a.pid(), SampleOrigin::kOnCpu).empty());
  // The finest of the periods was that of the second.
  EXPECT_GT(of_both.Stacks(a.pid(), SampleOrigin::kOnCpu).size() +
                of_both.Stacks(b.pid(), SampleOrigin::kOnCpu).size(),
            60u);
  for (const auto& stack : of_both.Stacks(a.pid(), SampleOrigin::kOnCpu)) {
    EXPECT_EQ(stack.header.sessions & (1ull << second), 0u);
    EXPECT_NE(stack.header.sessions & (1ull << both), 0u);
  }
  // The clocks are shared and exact in each.
  const auto start = of_both.AtStart(a.pid());
  const auto end = of_both.AtEnd(a.pid());
  ASSERT_TRUE(start && end);
  EXPECT_NEAR(static_cast<double>(SumOf(Growth(start->at_epoch, end->at_epoch))) /
                  static_cast<double>(of_both.ElapsedNs()),
              1.0, 0.001);
}

TEST_F(SessionTest, AllSlotsCanBeInUseAndComeBack) {
  const Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  std::vector<std::uint32_t> sessions;
  for (int i = 0; i < PROFD_MAX_SESSIONS; ++i) sessions.push_back(live_->Begin(SpecOf(puppet)));
  const auto one_more = live_->source().StartSession(SpecOf(puppet));
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, ErrorCode::kExhausted);
  for (const std::uint32_t session : sessions) EXPECT_TRUE(live_->source().StopSession(session));
  const auto again = live_->Begin(SpecOf(puppet));
  EXPECT_TRUE(live_->End(again).AtEnd(puppet.pid()));
}

TEST_F(SessionTest, NothingIsLeftBehind) {
  const Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  (void)live_->End(live_->Begin(SpecOf(puppet)));
  const auto before = open_files();
  for (int i = 0; i < 70; ++i) (void)live_->End(live_->Begin(SpecOf(puppet)));
  EXPECT_EQ(open_files(), before);
}

TEST_F(SessionTest, TargetsThatAreNotThereAreNamed) {
  Puppet ended([](const Puppet::Strings&) {});
  const std::uint32_t pid = ended.pid();
  ended.AwaitState('Z');
  const auto dead = live_->source().StartSession(SpecOf(ended));
  ASSERT_FALSE(dead) << "a process that has ended but was not reaped has no thread";
  EXPECT_EQ(dead.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(dead.error().message,
            "cannot open process " + std::to_string(pid) + ": no such process");
  EXPECT_TRUE(ended.Join());
  const auto gone = live_->source().StartSession(SpecOf("pid " + std::to_string(pid)));
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message,
            "cannot open process " + std::to_string(pid) + ": no such process");
  EXPECT_EQ(live_->source().StopSession(5).error().code, ErrorCode::kNotFound);
}

TEST_F(SessionTest, RefusesRatesTheKernelRefuses) {
  session::SessionSpec spec = SpecOf("all");
  spec.on_cpu_period_ns = 1'000;
  const auto fast = live_->source().StartSession(spec);
  ASSERT_FALSE(fast);
  EXPECT_EQ(fast.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(fast.error().message.find("above the kernel's limit"), std::string::npos)
      << fast.error().message;
  spec.on_cpu_period_ns = 0;
  EXPECT_EQ(live_->source().StartSession(spec).error().code, ErrorCode::kInvalidArgument);
  spec.on_cpu = false;
  spec.off_cpu = false;
  EXPECT_EQ(live_->source().StartSession(spec).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(SessionTest, HardwareCyclesWhereThereIsACounter) {
  const Puppet puppet(Spinner());
  session::SessionSpec spec = SpecOf(puppet);
  spec.clock = session::OnCpuClock::kHardwareCycles;
  constexpr int kTries = 100;
  bool seen = false;
  for (int i = 0; i < kTries && !seen; ++i) {
    const auto session = live_->source().StartSession(spec);
    if (!session) {
      EXPECT_EQ(session.error().code, ErrorCode::kUnsupported);
      EXPECT_EQ(session.error().message, "this machine has no hardware cycle counter");
      GTEST_SKIP() << session.error().message;
    }
    ASSERT_TRUE(puppet.AwaitCpu(static_cast<std::uint64_t>(i + 1) * 300 * kMs));
    seen = !live_->End(session->number).Stacks(puppet.pid(), SampleOrigin::kOnCpu).empty();
  }
  EXPECT_TRUE(seen);
}

TEST_F(SessionTest, StatusSaysHowItWorks) {
  const auto session = live_->Begin(SpecOf("all"));
  const session::SourceStatus status = live_->source().Status();
  (void)live_->End(session);
  EXPECT_FALSE(status.levels.hook.empty());
  EXPECT_FALSE(status.levels.split.empty());
  EXPECT_FALSE(status.levels.kernel_release.empty());
  EXPECT_GT(status.online_cpus, 0u);
  EXPECT_GT(status.switches, 0u);
  EXPECT_GT(status.map_bytes, std::uint64_t{PROFD_RING_ON_CPU_BYTES + PROFD_RING_SCHED_BYTES});
  EXPECT_EQ(status.counters.size(), std::size_t{PROFD_COUNTER_MAX});
}

}  // namespace
}  // namespace profd::source
