// Threads and processes that meet at a lock or a pipe, and many that come and go.
#include <algorithm>
#include <cmath>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

class CrowdAccuracy : public TruthTest {};

using ConvoyAccuracy = BuildTest;

TEST_P(ConvoyAccuracy, LockConvoy) {
  ASSERT_NO_FATAL_FAILURE(Collect({"convoy", "--ms", "4000", "--threads", "4"}, 499, GetParam()));
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

TEST_F(CrowdAccuracy, PipePingPong) {
  ASSERT_NO_FATAL_FAILURE(Collect({"ping-pong", "--ms", "3000"}, 499));
  const TruthRun& run = *run_;
  std::uint64_t switches = 0;
  // Up to 3 more of each between the thread's reading of the books and its end.
  for (const char* name : {"ping", "pong"}) {
    const v1::ThreadClock& clock = run.MustThread(name).thread().clock();
    const auto& truth = run.Truth(name);
    const auto near = [](std::uint64_t counted, const nlohmann::json& books) {
      EXPECT_NEAR(static_cast<double>(counted), books.get<double>(), 3);
    };
    near(clock.on_cpu_count(), truth.at("schedstat").at("stretches"));
    near(clock.blocked_interruptible_count() + clock.blocked_uninterruptible_count() +
             clock.blocked_iowait_count(),
         truth.at("voluntary_switches"));
    near(clock.runnable_after_preemption_count() + clock.runnable_after_yield_count(),
         truth.at("involuntary_switches"));
    switches += clock.on_cpu_count();
  }
  EXPECT_GE(switches, 3u * 50'000u) << "the case itself must switch 50,000 times a second";
  EXPECT_GT(run.MustThread("ping").BlockedNs("truth::WaitForPong", v1::WAIT_PIPE), 0u);
  EXPECT_GT(run.MustThread("pong").BlockedNs("truth::WaitForPing", v1::WAIT_PIPE), 0u);
}

TEST_F(CrowdAccuracy, AThousandThreadsThatComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(Collect({"threads", "--ms", "2000", "--lives", "1000"}, 499));
  const TruthRun& run = *run_;
  int found = 0;
  for (const auto& truth : run.truth().at("threads")) {
    const auto view = run.Thread(truth.at("tid").get<std::uint32_t>());
    ASSERT_TRUE(view.ok()) << view.error().message;
    ++found;
    // The session's own account of begin and end against the program's.
    EXPECT_GE(view->thread().begin_ns(), truth.at("created_ns").get<std::uint64_t>());
    EXPECT_LE(view->thread().begin_ns(), truth.at("begin_ns").get<std::uint64_t>());
    EXPECT_GE(view->thread().end_ns(), truth.at("end_ns").get<std::uint64_t>());
    EXPECT_TRUE(view->thread().began());
    EXPECT_TRUE(view->thread().exited());
  }
  EXPECT_EQ(found, 1000);
}

TEST_F(CrowdAccuracy, ForkStorm) {
  ASSERT_NO_FATAL_FAILURE(Collect({"forks", "--lives", "1000"}, 499));
  const TruthRun& run = *run_;
  double apart_ns = 0;
  for (const auto& truth : run.truth().at("threads")) {
    const auto tid = truth.at("tid").get<std::uint32_t>();
    const auto view = run.Thread(tid);
    ASSERT_TRUE(view.ok()) << view.error().message;
    // What wait4 says is the whole sum_exec_runtime of the child, in us.
    const auto on_cpu_ns = static_cast<double>(view->thread().clock().on_cpu_ns());
    apart_ns += std::max(0.0, std::abs(on_cpu_ns - truth.at("cpu_ns").get<double>()) - 1e5);
  }
  EXPECT_LE(apart_ns, static_cast<double>(run.steal_ns()));
}

}  // namespace
}  // namespace profd::accuracy
