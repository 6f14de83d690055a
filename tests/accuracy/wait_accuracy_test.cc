// Threads that wait.
#include <tuple>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

// Wait of the sleeping program in `function`, in proportion to its life.
double SleepShare(const ThreadView& view, const std::string& function) {
  return static_cast<double>(view.BlockedNs(function, v1::WAIT_SLEEP)) /
         static_cast<double>(ElapsedNs(view.thread().clock()));
}

using SleepAccuracy = BuildTest;

TEST_P(SleepAccuracy, AThreadThatOnlySleeps) {
  ASSERT_NO_FATAL_FAILURE(Collect({"sleep", "--ms", "3000"}, 499, GetParam()));
  const TruthRun& run = *run_;
  ExpectShare(run, "sleeper", "truth::SleepTenth", Side::kOffCpu);
  EXPECT_GT(SleepShare(run.MustThread("sleeper"), "truth::SleepTenth"), 0.98);
}

PROFD_EACH_BUILD(SleepAccuracy);

using LongSleepAccuracy = BuildTest;

TEST_P(LongSleepAccuracy, ASleepLongerThanTheCollection) {
  auto run = TruthRun::CollectRunning(GetParam(), {"long-sleep", "--ms", "60000"}, "2");
  ASSERT_TRUE(run.ok()) << run.error().message;
  ExpectSums(*run);
  const v1::Profile& profile = run->profile();
  EXPECT_GE(profile.start_ns(), run->before_ns());
  EXPECT_GE(profile.end_ns() - profile.start_ns(), 2'000'000'000u);
  EXPECT_LE(profile.end_ns(), run->after_ns());
  // Both are there all the time.
  ASSERT_EQ(profile.threads_size(), 2);
  for (const v1::Thread& thread : profile.threads()) {
    EXPECT_EQ(thread.begin_ns(), profile.start_ns()) << thread.comm();
    EXPECT_EQ(thread.end_ns(), profile.end_ns()) << thread.comm();
    EXPECT_FALSE(thread.began()) << thread.comm();
    EXPECT_FALSE(thread.exited()) << thread.comm();
  }
  const ThreadView view = run->MustThread("long-sleeper");
  EXPECT_EQ(view.BlockedNs("truth::SleepBeyondTheEnd", v1::WAIT_SLEEP),
            profile.end_ns() - profile.start_ns());
}

PROFD_EACH_BUILD(LongSleepAccuracy);

// 100 Hz is a sampling point in every 10 ms: the beats are much shorter, ten times shorter, and the
// same.
class PeriodicAccuracy
    : public TruthTest,
      public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(PeriodicAccuracy, TwoFunctionsAlternateOnAFixedBeat) {
  const auto& [period_us, program] = GetParam();
  ASSERT_NO_FATAL_FAILURE(
      Collect({"periodic", "--ms", "8000", "--period-us", period_us}, 100, program));
  const TruthRun& run = *run_;
  ExpectShare(run, "periodic", "truth::WaitFirst", Side::kOffCpu);
  ExpectShare(run, "periodic", "truth::WaitRest", Side::kOffCpu);
}

INSTANTIATE_TEST_SUITE_P(Beats, PeriodicAccuracy,
                         ::testing::Combine(::testing::Values("10", "1000", "10000"),
                                            ::testing::Values("truth", "truth_no_fp")),
                         [](const auto& beat) {
                           return std::string(std::get<0>(beat.param)) + "us_" +
                                  std::get<1>(beat.param);
                         });

using AlternateAccuracy = BuildTest;

TEST_P(AlternateAccuracy, ThreeAndSevenMillisecondsInTurn) {
  // Marks at a fixed distance show anything from 0 to 100 %.
  ASSERT_NO_FATAL_FAILURE(Collect({"alternate", "--ms", "8000"}, 100, GetParam()));
  const TruthRun& run = *run_;
  ExpectShare(run, "alternate", "truth::WaitThree", Side::kOffCpu);
  ExpectShare(run, "alternate", "truth::WaitSeven", Side::kOffCpu);
}

PROFD_EACH_BUILD(AlternateAccuracy);

}  // namespace
}  // namespace profd::accuracy
