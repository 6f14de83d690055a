// Threads on the CPU, or waiting for one.
#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

class CpuAccuracy : public TruthTest {};

using SpinAccuracy = BuildTest;

TEST_P(SpinAccuracy, TwoFunctionsOfAThreadThatOnlySpins) {
  ASSERT_NO_FATAL_FAILURE(Collect({"spin", "--ms", "3000"}, 997, GetParam()));
  const TruthRun& run = *run_;
  ExpectShare(run, "spinner", "truth::SpinMost", Side::kOnCpu);
  ExpectShare(run, "spinner", "truth::SpinRest", Side::kOnCpu);
}

PROFD_EACH_BUILD(SpinAccuracy);

TEST_F(CpuAccuracy, ALoopInStepWithTheSamplingRate) {
  // 1/99 s, sampled 99 times a second: a period that is not redrawn shows 0 or 100 %.
  ASSERT_NO_FATAL_FAILURE(Collect({"lockstep", "--ms", "10000"}, 99));
  const TruthRun& run = *run_;
  ExpectShare(run, "lockstep", "truth::LockstepFirst", Side::kOnCpu);
}

TEST_F(CpuAccuracy, MoreSpinnersThanCpus) {
  ASSERT_NO_FATAL_FAILURE(Collect({"crowd", "--ms", "4000", "--threads", "4"}, 499));
  const TruthRun& run = *run_;
  double runnable_ns = 0;
  double truly_ns = 0;
  for (const auto& truth : run.truth().at("threads")) {
    const std::string name = truth.at("name");
    const ThreadView view = run.MustThread(name);
    ExpectShare(run, name, "truth::SpinInCrowd", Side::kOnCpu);
    ExpectShare(run, name, "truth::SpinInCrowd", Side::kOffCpu);
    runnable_ns += static_cast<double>(view.RunnableNs());
    const TrueTime time = TrueTimeIn(truth, "truth::SpinInCrowd");
    truly_ns += time.wall_ns - time.cpu_ns;
  }
  // They never block: what is not on the CPU is runnable. Steal time counts as on_cpu in profd and
  // as neither in the program's CPU clock.
  EXPECT_NEAR(runnable_ns / truly_ns, 1, 0.01 + static_cast<double>(run.steal_ns()) / truly_ns);
  // Four on two CPUs: half of the time at least, more when others want the CPUs, too.
  EXPECT_GT(truly_ns / (4 * 4e9), 0.45);
}

}  // namespace
}  // namespace profd::accuracy
