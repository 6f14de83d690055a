// Each death is that of a process of its own.
#include "daemon/app/ending.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace profd::app {
namespace {

using std::chrono::milliseconds;
using ::testing::ExitedWithCode;
using ::testing::MatchesRegex;

constexpr app::Ending::Limits kSoon{.stop = milliseconds(100), .free = milliseconds(50)};
constexpr app::Ending::Limits kLate{.stop = milliseconds(600'000), .free = milliseconds(600'000)};

class EndingTest : public ::testing::Test {
 protected:
  EndingTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void Hang() {
  for (;;) ::pause();
}

void BlockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

TEST_F(EndingTest, AStepThatDoesNotEndIsNamedWithTheThreadsThatAreLeft) {
  EXPECT_EXIT(
      {
        app::Ending ending(kSoon);
        std::jthread hangs([] {
          ::pthread_setname_np(::pthread_self(), "profd-store");
          Hang();
        });
        ending.Begin();
        ending.Step("sessions");
        ending.Step("history");
        Hang();
      },
      ExitedWithCode(1),
      "profd: not stopped within 0.1 s, leaves: history does not end; there are still profd-store");
}

TEST_F(EndingTest, AfterTheLastStepItLeavesWithItsCode) {
  for (const int code : {0, 5}) {
    EXPECT_EXIT(
        {
          app::Ending ending({.stop = milliseconds(600'000), .free = milliseconds(50)});
          ending.Begin();
          (void)ending.Finish(code);
          Hang();
        },
        ExitedWithCode(code), "profd: stopped, and leaves without waiting for none of profd's own");
  }
}

TEST_F(EndingTest, ItBeginsWithTheSignalAlsoWhenTheMainThreadHangs) {
  EXPECT_EXIT(
      {
        BlockSignals();
        app::Ending ending(kSoon);
        ::kill(::getpid(), SIGTERM);
        Hang();
      },
      ExitedWithCode(1), "leaves: the main thread does not end");
}

TEST_F(EndingTest, BeforeTheSignalNothingHappens) {
  EXPECT_EXIT(
      {
        BlockSignals();
        {
          app::Ending ending({.stop = milliseconds(0), .free = milliseconds(0)});
          ending.Step("is only named");
          std::this_thread::yield();
        }
        std::_Exit(7);
      },
      ExitedWithCode(7), "");
}

TEST_F(EndingTest, AnEndInTimeSaysHowLongEachStepTook) {
  app::Ending ending(kLate);
  ending.Begin();
  const auto began = ending.began();
  ending.Begin();
  EXPECT_EQ(ending.began(), began);
  ending.Step("sessions");
  ending.Step("history");
  EXPECT_THAT(ending.Finish(0),
              MatchesRegex("stopped in [0-9.]+ s: sessions [0-9.]+ s, history [0-9.]+ s"));
}

}  // namespace
}  // namespace profd::app
