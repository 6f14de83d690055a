// Threads and processes that meet at a lock or a pipe, and many that come and go.
#include <algorithm>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

using ConvoyAccuracy = BuildTest;

TEST_P(ConvoyAccuracy, LockConvoy) {
  ASSERT_NO_FATAL_FAILURE(Collect({"convoy", "--ms", "4000", "--threads", "4"}, 997, GetParam()));
  const TruthRun& run = *run_;
  for (const auto& truth : run.truth().at("threads")) {
    const std::string name = truth.at("name");
    ExpectShare(run, name, "truth::WaitForConvoyLock", Side::kOffCpu);
    ExpectShare(run, name, "truth::HoldConvoyLock", Side::kOnCpu);
    const ThreadView view = run.MustThread(name);
    EXPECT_GT(view.BlockedNs("truth::WaitForConvoyLock", v1::WAIT_LOCK), 0u);
    EXPECT_EQ(view.BlockedNs("truth::WaitForConvoyLock", v1::WAIT_SLEEP), 0u);
  }
}

PROFD_EACH_BUILD(ConvoyAccuracy);

using PipeAccuracy = BuildTest;

TEST_P(PipeAccuracy, PipePingPong) {
  ASSERT_NO_FATAL_FAILURE(Collect({"ping-pong", "--ms", "3000"}, 499, GetParam()));
  const TruthRun& run = *run_;
  std::uint64_t switches = 0;
  for (const char* name : {"ping", "pong"}) {
    const v1::ThreadClock& clock = run.MustThread(name).thread().clock();
    const auto& truth = run.Truth(name);
    const std::uint64_t blocked = clock.blocked_interruptible_count() +
                                  clock.blocked_uninterruptible_count() +
                                  clock.blocked_iowait_count();
    const std::uint64_t preempted =
        clock.runnable_after_preemption_count() + clock.runnable_after_yield_count();
    // An interval on the CPU ends so or so, the last one with the thread.
    EXPECT_EQ(clock.on_cpu_count(), blocked + preempted + 1) << name;
    // Never less than when the thread read kernel accounting. Until its end it gives its memory
    // back and wakes who joins it: three locks of the kernel and libc at most, each of which it may
    // wait for, or be preempted at.
    const auto near = [&name](std::uint64_t counted, const nlohmann::json& accounting) {
      EXPECT_GE(counted, accounting.get<std::uint64_t>()) << name;
      EXPECT_LE(counted, accounting.get<std::uint64_t>() + 3) << name;
    };
    near(clock.on_cpu_count(), truth.at("schedstat").at("intervals"));
    near(blocked, truth.at("voluntary_switches"));
    near(preempted, truth.at("involuntary_switches"));
    switches += clock.on_cpu_count();
  }
  EXPECT_GE(switches, 3u * 50'000u) << "the case itself must switch 50,000 times a second";
  ExpectBlockedIn(run, "ping", "truth::WaitForPong", "truth::PlayPing");
  ExpectBlockedIn(run, "pong", "truth::WaitForPing", "truth::PlayPong");
  EXPECT_GT(run.MustThread("ping").BlockedNs("truth::WaitForPong", v1::WAIT_PIPE), 0u);
  EXPECT_GT(run.MustThread("pong").BlockedNs("truth::WaitForPing", v1::WAIT_PIPE), 0u);
}

PROFD_EACH_BUILD(PipeAccuracy);

using ThreadsAccuracy = BuildTest;

TEST_P(ThreadsAccuracy, AThousandThreadsThatComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(
      Collect({"threads", "--ms", "2000", "--lives", "1000"}, 1999, GetParam()));
  const TruthRun& run = *run_;
  const auto& threads = run.truth().at("threads");
  EXPECT_EQ(threads.size(), 1000u);
  ExpectShareOfAll(run, "truth::LiveAndSpin", Side::kOnCpu);
  ExpectShareOfAll(run, "truth::LiveAndSleep", Side::kOffCpu);
  // They are started at instants that are set beforehand, 2 s in all: what comes later has waited
  // for the thread that starts them, while that did not sleep, or joined others.
  const auto created = [](const auto& thread) {
    return thread.at("created_ns").template get<double>();
  };
  const auto [first, last] = std::ranges::minmax(threads, {}, created);
  const v1::ThreadClock& starter = run.MainThread().thread().clock();
  EXPECT_LE(created(last) - created(first),
            2e9 + run.truth().at("joining_ns").get<double>() +
                static_cast<double>(starter.on_cpu_ns() + StolenNs(starter) + RunnableNs(starter) +
                                    starter.blocked_uninterruptible_ns()));
}

PROFD_EACH_BUILD(ThreadsAccuracy);

using ForkAccuracy = BuildTest;

TEST_P(ForkAccuracy, ForkStorm) {
  ASSERT_NO_FATAL_FAILURE(Collect({"forks", "--lives", "1000"}, 1999, GetParam()));
  const TruthRun& run = *run_;
  EXPECT_EQ(run.truth().at("threads").size(), 1000u);
  ExpectShareOfAll(run, "truth::SpinInChild", Side::kOnCpu);
  double apart_ns = 0;
  for (const auto& truth : run.truth().at("threads")) {
    const v1::Thread& thread = run.Thread(truth.at("tid").get<std::uint32_t>()).value().thread();
    // What wait4 says is the whole sum_exec_runtime of the child as of then, in user and in kernel
    // mode, each in whole us. What the child has not done before it was waited for, it may do
    // after. The two clocks are apart by 1 us a wait.
    const double tail_ns =
        static_cast<double>(thread.end_ns()) - truth.at("joined_ns").get<double>();
    const double clocks_ns = 1000.0 * static_cast<double>(RunnableCount(thread.clock()) + 1);
    const double its_apart_ns =
        static_cast<double>(thread.clock().on_cpu_ns()) - truth.at("waited_cpu_ns").get<double>();
    apart_ns += std::max(
        {0.0, -its_apart_ns - clocks_ns, its_apart_ns - clocks_ns - 2000 - std::max(0.0, tail_ns)});
  }
  // Steal time is in none of the kernel's sums.
  EXPECT_LE(apart_ns, static_cast<double>(run.most_stolen_ns()));
}

PROFD_EACH_BUILD(ForkAccuracy);

}  // namespace
}  // namespace profd::accuracy
