// Threads that wait.
#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

class WaitAccuracy : public TruthTest {};

// Wait of the sleeping program in `function`, in proportion to its life.
double SleepShare(const ThreadView& view, const std::string& function) {
  return static_cast<double>(view.BlockedNs(function, v1::WAIT_SLEEP)) /
         static_cast<double>(view.ElapsedNs());
}

using SleepAccuracy = BuildTest;

TEST_P(SleepAccuracy, AThreadThatOnlySleeps) {
  ASSERT_NO_FATAL_FAILURE(Collect({"sleep", "--ms", "3000"}, 499, GetParam()));
  const TruthRun& run = *run_;
  ExpectShare(run, "sleeper", "truth::SleepTenth", Side::kOffCpu);
  EXPECT_GT(SleepShare(run.MustThread("sleeper"), "truth::SleepTenth"), 0.98);
}

PROFD_EACH_BUILD(SleepAccuracy);

TEST_F(WaitAccuracy, ASleepLongerThanTheCollection) {
  auto run = TruthRun::CollectRunning({"long-sleep", "--ms", "60000"}, "2");
  ASSERT_TRUE(run.ok()) << run.error().message;
  ExpectSums(*run);
  const ThreadView view = run->MustThread("long-sleeper");
  EXPECT_GE(view.ElapsedNs(), 2'000'000'000u);
  EXPECT_EQ(view.BlockedNs("truth::SleepBeyondTheEnd", v1::WAIT_SLEEP), view.ElapsedNs());
}

// 100 Hz is a mark in every 10 ms: the beats are much shorter, ten times shorter, and the same.
class PeriodicAccuracy : public TruthTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PeriodicAccuracy, TwoFunctionsAlternateOnAFixedBeat) {
  ASSERT_NO_FATAL_FAILURE(Collect({"periodic", "--ms", "8000", "--period-us", GetParam()}, 100));
  const TruthRun& run = *run_;
  ExpectShare(run, "periodic", "truth::WaitFirst", Side::kOffCpu);
  ExpectShare(run, "periodic", "truth::WaitRest", Side::kOffCpu);
}

INSTANTIATE_TEST_SUITE_P(Beats, PeriodicAccuracy, ::testing::Values("10", "1000", "10000"));

TEST_F(WaitAccuracy, ThreeAndSevenMillisecondsInTurn) {
  // Marks at a fixed distance show anything from 0 to 100 %.
  ASSERT_NO_FATAL_FAILURE(Collect({"alternate", "--ms", "8000"}, 100));
  const TruthRun& run = *run_;
  ExpectShare(run, "alternate", "truth::WaitThree", Side::kOffCpu);
  ExpectShare(run, "alternate", "truth::WaitSeven", Side::kOffCpu);
}

}  // namespace
}  // namespace profd::accuracy
