// Threads and processes that meet at a lock or a pipe, and many that come and go.
#include <map>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

class CrowdAccuracy : public TruthTest {};

TEST_F(CrowdAccuracy, LockConvoy) {
  ASSERT_NO_FATAL_FAILURE(Collect({"convoy", "--ms", "4000", "--threads", "4"}, 499));
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

TEST_F(CrowdAccuracy, PipePingPong) {
  ASSERT_NO_FATAL_FAILURE(Collect({"ping-pong", "--ms", "3000"}, 499));
  const TruthRun& run = *run_;
  const auto round_trips = run.truth().at("round_trips").get<std::uint64_t>();
  ASSERT_GE(round_trips * 2, 3u * 50'000u) << "the case itself must switch 50,000 times a second";
  // A round trip blocks each side once at most, and the clocks count every one of them.
  for (const char* name : {"ping", "pong"}) {
    const v1::ThreadClock& clock = run.MustThread(name).thread().clock();
    const std::uint64_t stretches = run.Truth(name).at("schedstat").at("stretches");
    EXPECT_NEAR(static_cast<double>(clock.on_cpu_count()), static_cast<double>(stretches), 3);
    EXPECT_GE(clock.blocked_interruptible_count() * 2, round_trips);
  }
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
  std::map<std::uint32_t, int> threads_of;
  for (int i = 0; i < run.profile().threads_size(); ++i) {
    ++threads_of[run.profile().threads(i).tid()];
  }
  for (const auto& truth : run.truth().at("threads")) {
    const auto tid = truth.at("tid").get<std::uint32_t>();
    const auto view = run.Thread(tid);
    ASSERT_TRUE(view.ok()) << view.error().message;
    // What wait4 says is the whole sum_exec_runtime of the child, in us.
    const auto on_cpu_ns = static_cast<double>(view->thread().clock().on_cpu_ns());
    EXPECT_NEAR(on_cpu_ns, truth.at("cpu_ns").get<double>(),
                1e5 + static_cast<double>(run.steal_ns()))
        << "child " << tid;
  }
}

}  // namespace
}  // namespace profd::accuracy
