// Sampling points are instants of the host: the same for all threads, CPUs and sessions.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "bpf/shared/points.h"
#include "tests/root/source/live_test.h"

namespace profd::source {
namespace {

using PointTest = LiveTest;
using wire::SampleOrigin;
using wire::StackEvent;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint32_t kLevel = 20;
constexpr std::uint64_t kPeriodNs = 1u << kLevel;
constexpr unsigned kThreads = 4;

// The CPUs that this process may use.
std::vector<int> OwnCpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof(allowed), &allowed);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

// Each thread on a CPU of its own, as far as there are. They sleep 0.1 to 6 ms, on and on. Says
// when there are all of them; then the first thread sleeps to the end.
void Doze(const Puppet::Strings& strings) {
  const std::vector<int> cpus = OwnCpus();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&cpus, i] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpus[i % cpus.size()], &one);
      ::sched_setaffinity(0, sizeof(one), &one);
      std::mt19937 random(i);
      while (true) std::this_thread::sleep_for(std::chrono::microseconds(100 + random() % 5'900));
    });
  strings.Say({1});
  for (std::thread& thread : threads) thread.join();
}

// The points of a session's level, from one instant to another.
std::vector<std::uint64_t> PointsIn(const Heard& heard, std::uint32_t level, std::uint64_t from,
                                    std::uint64_t to) {
  std::vector<std::uint64_t> points;
  for (std::uint64_t period = from >> level; period <= to >> level; ++period) {
    const std::uint64_t point = profd_point(heard.point_seed, level, period);
    if (point >= from && point < to) points.push_back(point);
  }
  return points;
}

TEST_F(PointTest, ThreadsOfAllCpusAreSampledAtTheSameInstants) {
  const Puppet puppet(Doze);
  ASSERT_EQ(puppet.Hear(1)[0], 1u);
  puppet.AwaitState('S');
  session::SessionSpec spec = SpecOf(puppet);
  spec.on_cpu = false;
  spec.off_cpu_period_ns = kMs;
  const auto session = live_->Begin(spec);
  // The more of them, the smaller a loss that shows.
  constexpr std::size_t kStacks = 1'750;
  ASSERT_TRUE(live_->AwaitStacks(session, kStacks, [&puppet](const StackEvent& stack) {
    return stack.origin == SampleOrigin::kOffCpu && stack.header.process.pid == puppet.pid();
  }));
  const Heard heard = live_->End(session);
  EXPECT_GE(heard.CheckPoints(), kStacks);

  std::map<std::uint32_t, std::vector<StackEvent>> by_thread;
  std::set<std::uint32_t> cpus;
  for (const auto& stack : heard.All<StackEvent>()) {
    if (stack.origin != SampleOrigin::kOffCpu || stack.header.process.pid != puppet.pid()) continue;
    EXPECT_EQ(stack.period_ns, kPeriodNs);
    by_thread[stack.header.thread.tid].push_back(stack);
    cpus.insert(stack.header.cpu);
  }
  ASSERT_EQ(by_thread.size(), kThreads);
  EXPECT_EQ(cpus.size(), std::min<std::size_t>(kThreads, OwnCpus().size()));
  // There the shortest waits are left out.
  // Every point of the session, but where the thread was on a CPU, or its wait has not ended.
  for (const auto& [tid, stacks] : by_thread) {
    const auto start = heard.AtStart(tid);
    const auto end = heard.AtEnd(tid);
    ASSERT_TRUE(start && end);
    const std::uint64_t from = heard.start.epoch_ns;
    const std::uint64_t to = end->state == PROFD_STATE_ON_CPU ? heard.end.epoch_ns : end->since_ns;
    const std::vector<std::uint64_t> points = PointsIn(heard, kLevel, from, to);
    const auto missed = std::ranges::count_if(points, [&](std::uint64_t point) {
      return std::ranges::none_of(stacks, [&](const StackEvent& stack) {
        return point >= stack.begin_ns && point < stack.header.time_ns;
      });
    });
    const double on_cpu =
        static_cast<double>(Growth(start->at_epoch, end->at_epoch).on_cpu_ns) / kPeriodNs;
    EXPECT_NEAR(static_cast<double>(missed), on_cpu, 5 * std::sqrt(on_cpu) + 2) << tid;
  }
}

TEST_F(PointTest, EverythingOnTheHostIsSampledAtThem) {
  session::SessionSpec spec = SpecOf("all +kernel");
  spec.off_cpu_period_ns = kMs;
  const Puppet puppet(Doze);
  const auto session = live_->Begin(spec);
  ASSERT_TRUE(live_->AwaitStacks(
      session, 500, [](const StackEvent& stack) { return stack.origin == SampleOrigin::kOffCpu; }));
  EXPECT_GE(live_->End(session).CheckPoints(), 500u);
}

// A session of another period begins, is rolled and ends at any instant; what it changes holds for
// waits that end afterwards, and the coarse one finds its points among the fine ones.
TEST_F(PointTest, ACoarseSessionFindsItsPointsAmongThoseOfAFinerOne) {
  const Puppet puppet(Doze);
  session::SessionSpec coarse = SpecOf("all");
  coarse.on_cpu = false;
  coarse.background = true;
  coarse.off_cpu_period_ns = 8 * kMs;
  session::SessionSpec fine = SpecOf(puppet);
  fine.on_cpu = false;
  fine.off_cpu_period_ns = kMs;
  const auto await_stacks = [&puppet](std::uint32_t session, std::uint64_t period_ns) {
    return live_->AwaitStacks(session, 100, [&](const StackEvent& stack) {
      return stack.origin == SampleOrigin::kOffCpu && stack.header.process.pid == puppet.pid() &&
             stack.period_ns == period_ns;
    });
  };
  const auto first = live_->Begin(coarse);
  ASSERT_TRUE(await_stacks(first, 8 * kPeriodNs));
  const auto beside = live_->Begin(fine);
  ASSERT_TRUE(await_stacks(beside, kPeriodNs));
  const auto second = live_->Roll(first);
  ASSERT_TRUE(await_stacks(second, kPeriodNs));
  const Heard of_fine = live_->End(beside);
  ASSERT_TRUE(await_stacks(second, 8 * kPeriodNs));
  const Heard of_first = live_->Await(first);
  const Heard of_second = live_->End(second);
  EXPECT_GT(of_fine.CheckPoints(), 100u);
  EXPECT_GT(of_first.CheckPoints(), 100u);
  EXPECT_GT(of_second.CheckPoints(), 100u);
  EXPECT_EQ(of_first.start.off_cpu_period_ns, 8 * kPeriodNs);

  std::set<std::uint64_t> periods;
  for (const Heard* heard : {&of_first, &of_second}) {
    std::size_t found = 0;
    for (const auto& stack : heard->All<StackEvent>()) {
      if (stack.origin != SampleOrigin::kOffCpu || stack.header.process.pid != puppet.pid())
        continue;
      periods.insert(stack.period_ns);
      const auto points =
          profd_points_in(heard->point_seed, kLevel + 3, stack.begin_ns, stack.header.time_ns);
      EXPECT_LE(points, stack.blocked_points + stack.runnable_points);
      found += points;
    }
    EXPECT_GT(found, 50u);
  }
  EXPECT_EQ(periods, (std::set<std::uint64_t>{kPeriodNs, 8 * kPeriodNs}));
}

}  // namespace
}  // namespace profd::source
