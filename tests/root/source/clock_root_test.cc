#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using ClockTest = LiveTest;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kTick =
    10 * kMs;  // of the slowest kernel; kernel accounting moves by ticks

// |sum of the states - elapsed| <= 0.1 % of elapsed.
void ExpectCloses(const profd_clock& clock, std::uint64_t elapsed_ns) {
  const auto sum = static_cast<double>(SumOf(clock));
  const auto elapsed = static_cast<double>(elapsed_ns);
  EXPECT_NEAR(sum / elapsed, 1.0, 0.001) << SumOf(clock) << " of " << elapsed_ns << " ns";
}

// What the clock of a thread that was there all the time showed for the session.
profd_clock InSession(const Heard& heard, std::uint32_t tid) {
  const auto start = heard.AtStart(tid);
  const auto end = heard.AtEnd(tid);
  EXPECT_TRUE(start && end) << "no clock of " << tid;
  if (!start || !end) return {};
  EXPECT_EQ(start->epoch_ns, heard.start.epoch_ns);
  EXPECT_EQ(end->epoch_ns, heard.end.epoch_ns);
  return Growth(start->at_epoch, end->at_epoch);
}

TEST_F(ClockTest, ASpinningThreadRunsForAsLongAsItsOwnClockSays) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    const std::uint64_t begin = ThreadCpuNs();
    Spin(200 * kMs);
    strings.Say({ThreadCpuNs() - begin});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  puppet.Go();
  const std::uint64_t cpu_ns = puppet.Hear(1)[0];
  puppet.AwaitState('S');
  const Heard heard = live_->End(session);
  const profd_clock clock = InSession(heard, puppet.pid());
  ExpectCloses(clock, heard.ElapsedNs());
  // It is on the CPU a little longer than it measures: waking up and reporting.
  EXPECT_GE(clock.on_cpu_ns + kTick, cpu_ns);
  EXPECT_LE(clock.on_cpu_ns, cpu_ns + 3 * kTick) << "stolen time is none of it";
  EXPECT_GE(clock.blocked_count[PROFD_INTERRUPTIBLE], 1u);
}

TEST_F(ClockTest, AThreadAsleepFromBeforeUntilAfterIsBlockedToTheNanosecond) {
  const Puppet puppet([](const Puppet::Strings& strings) { strings.Wait(); });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  std::this_thread::sleep_for(std::chrono::milliseconds(120));  // so long is the session
  const Heard heard = live_->End(session);
  const profd_clock clock = InSession(heard, puppet.pid());
  EXPECT_EQ(SumOf(clock), heard.ElapsedNs());
  EXPECT_EQ(clock.blocked_ns[PROFD_INTERRUPTIBLE], heard.ElapsedNs());
  EXPECT_EQ(clock.on_cpu_count, 0u);
}

TEST_F(ClockTest, AThreadThatSpinsThroughoutCloses) {
  const Puppet puppet([](const Puppet::Strings&) { Spin(3'600'000 * kMs); });
  ASSERT_TRUE(puppet.AwaitCpu(kMs)) << "before that it may wait for pages that it shares";
  const auto session = live_->Begin(SpecOf(puppet));
  ASSERT_TRUE(puppet.AwaitCpu(300 * kMs));
  const Heard heard = live_->End(session);
  const profd_clock clock = InSession(heard, puppet.pid());
  ExpectCloses(clock, heard.ElapsedNs());
  EXPECT_EQ(BlockedOf(clock), 0u);
  EXPECT_GT(clock.on_cpu_ns, 0u);
}

// A thread that is listed no more, and waits for a CPU to end, is in no reading of clocks. It waits
// long where the kernel groups processes by terminal: it has left the group by then, and competes
// with the spinners' group as a whole.
TEST_F(ClockTest, AThreadThatEndsAsItsSessionDoesHasItsClock) {
  const auto set_group = [](const char* nice) { std::ofstream("/proc/self/autogroup") << nice; };
  set_group("-3");
  std::vector<std::unique_ptr<Puppet>> spinners;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i)
    spinners.push_back(
        std::make_unique<Puppet>([](const Puppet::Strings&) { Spin(3'600'000 * kMs); }));
  constexpr int kTimes = 30;
  for (int i = 0; i < kTimes; ++i) {
    const Puppet puppet([](const Puppet::Strings& strings) {
      std::thread([&strings] {
        strings.Say({ThreadId()});
        strings.Wait();
      }).detach();
      for (;;) ::pause();
    });
    const auto tid = static_cast<std::uint32_t>(puppet.Hear(1)[0]);
    const std::string task =
        "/proc/" + std::to_string(puppet.pid()) + "/task/" + std::to_string(tid);
    const auto session = live_->Begin(SpecOf(puppet));
    puppet.Go();
    // Without a pause: the session is to end while the thread is about to.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::filesystem::exists(task)) {
      ASSERT_LT(std::chrono::steady_clock::now(), until) << "the thread is listed for ever";
      std::this_thread::yield();
    }
    const Heard heard = live_->End(session);
    EXPECT_TRUE(heard.AtEnd(tid)) << i;
  }
  set_group("0");
}

TEST_F(ClockTest, APeriodicSleeperIsBlockedForWhatItSlept) {
  Puppet puppet([](const Puppet::Strings& strings) {
    strings.Wait();
    const std::uint64_t begin = MonotonicNs();
    for (int i = 0; i < 200; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    strings.Say({MonotonicNs() - begin});
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  puppet.Go();
  const std::uint64_t slept_ns = puppet.Hear(1)[0];
  puppet.AwaitState('S');
  const Heard heard = live_->End(session);
  const profd_clock clock = InSession(heard, puppet.pid());
  ExpectCloses(clock, heard.ElapsedNs());
  EXPECT_GE(clock.blocked_count[PROFD_INTERRUPTIBLE], 200u);
  EXPECT_GE(SumOf(clock), slept_ns);
  EXPECT_GE(BlockedOf(clock), 200 * kMs) << "200 sleeps of at least 1 ms";
}

TEST_F(ClockTest, TwoSpinnersOnOneCpuAreRunnableHalfOfTheTime) {
  Puppet puppet([](const Puppet::Strings& strings) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
    std::vector<std::uint64_t> truth(4);
    strings.Wait();
    const auto spin = [&truth](std::size_t at) {
      truth[at] = ThreadId();
      Spin(150 * kMs);
      truth[at + 1] = ThreadCpuNs();
    };
    std::thread a(spin, 0);
    std::thread b(spin, 2);
    a.join();
    b.join();
    strings.Say(truth);
    strings.Wait();
  });
  puppet.AwaitState('S');
  const auto session = live_->Begin(SpecOf(puppet));
  puppet.Go();
  const auto truth = puppet.Hear(4);
  const Heard heard = live_->End(session);
  for (const std::size_t at : {0u, 2u}) {
    const auto tid = static_cast<std::uint32_t>(truth[at]);
    EXPECT_FALSE(heard.AtStart(tid)) << "it was born inside the session";
    const auto end = heard.AtEnd(tid);
    ASSERT_TRUE(end);
    ASSERT_TRUE(end->end);
    ExpectCloses(end->final, end->header.time_ns - end->begin_ns);
    EXPECT_GE(end->final.on_cpu_ns + kTick, truth[at + 1]);
    EXPECT_LE(end->final.on_cpu_ns, truth[at + 1] + 3 * kTick);
    EXPECT_GE(RunnableOf(end->final), 50 * kMs) << "the other one had the CPU";
    EXPECT_GT(end->final.runnable_count[PROFD_AFTER_PREEMPTION], 0u);
  }
}

}  // namespace
}  // namespace profd::source
