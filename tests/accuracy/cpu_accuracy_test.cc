// Threads on the CPU, or waiting for one.
#include <algorithm>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

using SpinAccuracy = BuildTest;

TEST_P(SpinAccuracy, TwoFunctionsOfAThreadThatOnlySpins) {
  ASSERT_NO_FATAL_FAILURE(Collect({"spin", "--ms", "3000"}, 997, GetParam()));
  const TruthRun& run = *run_;
  ExpectShare(run, "spinner", "truth::SpinMost", Side::kOnCpu);
  ExpectShare(run, "spinner", "truth::SpinRest", Side::kOnCpu);
}

PROFD_EACH_BUILD(SpinAccuracy);

using LockstepAccuracy = BuildTest;

TEST_P(LockstepAccuracy, ALoopInStepWithTheSamplingRate) {
  // 1/99 s, sampled 99 times a second: a period that is not redrawn shows 0 or 100 %.
  ASSERT_NO_FATAL_FAILURE(Collect({"lockstep", "--ms", "10000"}, 99, GetParam()));
  ExpectShare(*run_, "lockstep", "truth::LockstepFirst", Side::kOnCpu);
}

PROFD_EACH_BUILD(LockstepAccuracy);

using CrowdedAccuracy = BuildTest;

TEST_P(CrowdedAccuracy, MoreSpinnersThanCpus) {
  ASSERT_NO_FATAL_FAILURE(Collect({"crowd", "--ms", "4000", "--threads", "4"}, 499, GetParam()));
  const TruthRun& run = *run_;
  double stolen_ns = 0;
  double runnable_ns = 0;
  double apart_ns = 0;  // that clocks may be: 1 us a wait, one more for a phase's two readings
  double wall_ns = 0;
  double longest_ns = 0;
  for (const auto& truth : run.truth().at("threads")) {
    const std::string name = truth.at("name");
    const ThreadView view = run.MustThread(name);
    ExpectShare(run, name, "truth::SpinInCrowd", Side::kOnCpu);
    ExpectShare(run, name, "truth::SpinInCrowd", Side::kOffCpu);
    const TrueTime time = TrueTimeIn(truth, "truth::SpinInCrowd");
    const auto its_runnable_ns = static_cast<double>(RunnableNs(view.thread().clock()));
    const double its_apart_ns =
        1000.0 * (static_cast<double>(RunnableCount(view.thread().clock())) + 1);
    const double outside_ns =
        static_cast<double>(view.thread().end_ns() - view.thread().begin_ns()) - time.wall_ns;
    // While it spins it never blocks: what it has not run it was runnable, or that was stolen.
    const auto its_stolen_ns = static_cast<double>(StolenNs(view.thread().clock()));
    EXPECT_GE(its_runnable_ns + its_stolen_ns, time.wall_ns - time.cpu_ns - its_apart_ns) << name;
    EXPECT_LE(its_runnable_ns + its_stolen_ns,
              time.wall_ns - time.cpu_ns + outside_ns + its_apart_ns)
        << name;
    EXPECT_LE(static_cast<double>(BlockedNs(view.thread().clock())), outside_ns) << name;
    runnable_ns += its_runnable_ns;
    stolen_ns += its_stolen_ns;
    apart_ns += its_apart_ns;
    wall_ns += time.wall_ns;
    longest_ns = std::max(longest_ns, time.wall_ns);
  }
  // Two CPUs give two seconds a second: half of the time of four is runnable at least, more when
  // others want the CPUs, too.
  EXPECT_GE(runnable_ns, wall_ns - 2 * longest_ns - stolen_ns - apart_ns);
}

PROFD_EACH_BUILD(CrowdedAccuracy);

}  // namespace
}  // namespace profd::accuracy
