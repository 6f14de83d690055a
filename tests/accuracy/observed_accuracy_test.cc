// The same programs in snapshot mode: no program at a context switch, threads are visited.
#include <tuple>

#include "tests/accuracy/truth_suite.h"

namespace profd::accuracy {
namespace {

class ObservedAccuracy : public BuildTest {
 protected:
  void SetUp() override {
    BuildTest::SetUp();
    if (IsSkipped()) return;
    const std::string why = WhyNotObserved();
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(ObservedAccuracy, AThreadThatOnlySleeps) {
  ASSERT_NO_FATAL_FAILURE(Observe({"sleep", "--ms", "4000"}, 499, GetParam()));
  ExpectShare(*run_, "sleeper", "truth::SleepTenth", Side::kOffCpu);
}

TEST_P(ObservedAccuracy, TwoFunctionsThatAlternateEveryTenMilliseconds) {
  ASSERT_NO_FATAL_FAILURE(
      Observe({"periodic", "--ms", "8000", "--period-us", "10000"}, 199, GetParam()));
  ExpectShare(*run_, "periodic", "truth::WaitFirst", Side::kOffCpu);
  ExpectShare(*run_, "periodic", "truth::WaitRest", Side::kOffCpu);
}

TEST_P(ObservedAccuracy, ThreeAndSevenMillisecondsInTurn) {
  ASSERT_NO_FATAL_FAILURE(Observe({"alternate", "--ms", "8000"}, 199, GetParam()));
  ExpectShare(*run_, "alternate", "truth::WaitThree", Side::kOffCpu);
  ExpectShare(*run_, "alternate", "truth::WaitSeven", Side::kOffCpu);
}

TEST_P(ObservedAccuracy, AThreadThatOnlySpins) {
  ASSERT_NO_FATAL_FAILURE(Observe({"spin", "--ms", "3000"}, 997, GetParam()));
  ExpectShare(*run_, "spinner", "truth::SpinMost", Side::kOnCpu);
  ExpectShare(*run_, "spinner", "truth::SpinRest", Side::kOnCpu);
}

TEST_P(ObservedAccuracy, AThousandThreadsThatComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(Observe({"threads", "--ms", "4000", "--lives", "1000"}, 997, GetParam()));
  ExpectShareOfAll(*run_, "truth::LiveAndSpin", Side::kOnCpu);
  ExpectShareOfAll(*run_, "truth::LiveAndSleep", Side::kOffCpu);
}

PROFD_EACH_BUILD(ObservedAccuracy);

}  // namespace
}  // namespace profd::accuracy
