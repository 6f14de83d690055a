#include "daemon/python/feed/code_backfill.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"

namespace profd::python {
namespace {

// Twice as many as are known at once, and some.
constexpr std::uint32_t kShort = 40'000;
constexpr std::uint32_t kLong = 1;  // the pid of a process that outlives them all
constexpr std::uint64_t kRoundNs = 10'000'000;

class CodeBackfillTest : public ::testing::Test {
 protected:
  CodeBackfillTest() {
    Pass(PROFD_EVENT_SESSION_START, kLong);
    Find(kLong);
    NextRound();
  }
  void NextRound() {
    clock_.Set(clock_.MonotonicNs() + kRoundNs, 0);
    backfill_.BeginRound();
  }
  // The service has found an interpreter there.
  void Find(std::uint32_t pid) {
    PythonFacts facts;
    facts.process = {pid, test::RawHeader(0, pid).process_start_ns};
    facts.runtimes.resize(1);
    ASSERT_TRUE(facts_.Push(std::move(facts)));
  }
  void Pass(const test::EventBytes& bytes) {
    backfill_.Pass({bytes}, [this](const wire::RawEvent& event) {
      profd_event header{};
      std::memcpy(&header, event.bytes.data(), sizeof header);
      if (header.kind == PROFD_EVENT_PYTHON_PROCESS) reported_.push_back(header.pid);
    });
  }
  void Pass(profd_event_kind kind, std::uint32_t pid, std::uint32_t mode = 0) {
    profd_session_event event{};
    event.event = test::RawHeader(clock_.MonotonicNs(), pid);
    event.mode = PROFD_SESSION_ON_CPU | mode;
    Pass(test::RawEventBytes(kind, event));
  }
  void Sample(std::uint32_t pid) {
    Pass(test::RawSample(PROFD_EVENT_ON_CPU, test::RawHeader(clock_.MonotonicNs(), pid), {}, {}));
  }
  void Exit(std::uint32_t pid) {
    auto header = test::RawHeader(clock_.MonotonicNs(), pid);
    header.flags = PROFD_TASK_LAST_THREAD;
    Pass(test::RawTask(PROFD_EVENT_EXIT, header, "python"));
  }
  // In the next session it is reported again, if it is known.
  [[nodiscard]] bool IsKnown(std::uint32_t pid) {
    Pass(PROFD_EVENT_SESSION_END, kLong);
    Pass(PROFD_EVENT_SESSION_START, kLong);
    reported_.clear();
    Sample(pid);
    return reported_ == std::vector{pid};
  }

  test::ManualClock clock_;
  FactQueue facts_;
  test::DirectReaders readers_{std::make_unique<PythonParser>()};
  CodeShares shares_{clock_};
  CodeBackfill backfill_{facts_, readers_, clock_, shares_};
  std::vector<std::uint32_t> reported_;
};

TEST_F(CodeBackfillTest, AProcessIsForgottenARoundAfterItsEnd) {
  Find(7);
  Exit(7);
  NextRound();
  EXPECT_TRUE(IsKnown(7)) << "its last samples may come";
  NextRound();
  EXPECT_FALSE(IsKnown(7));
  EXPECT_TRUE(IsKnown(kLong));
}

TEST_F(CodeBackfillTest, WatchesForEveryReader) {
  Sample(kLong);
  EXPECT_TRUE(backfill_.IsWatching());
  Pass(PROFD_EVENT_SESSION_START, kLong, PROFD_SESSION_BACKGROUND);
  Pass(PROFD_EVENT_SESSION_END, kLong);
  EXPECT_FALSE(backfill_.IsWatching());
  Pass(PROFD_EVENT_SESSION_START, kLong);
  Pass(PROFD_EVENT_SESSION_END, kLong, PROFD_SESSION_BACKGROUND);
  EXPECT_TRUE(backfill_.IsWatching());
}

TEST_F(CodeBackfillTest, ManyShortProcessesDoNotMakeItForgetALongOne) {
  for (std::uint32_t pid = 2; pid < kShort; ++pid) {
    Find(pid);
    Sample(pid);
    Exit(pid);
    if (pid % 100 == 0) NextRound();
  }
  EXPECT_TRUE(IsKnown(kLong));
}

TEST_F(CodeBackfillTest, WhoseEndWasLostGoesBeforeWhoIsSampled) {
  for (std::uint32_t pid = 2; pid < kShort; ++pid) {
    Find(pid);
    Sample(pid);
    if (pid % 100 != 0) continue;
    NextRound();
    Sample(kLong);
  }
  EXPECT_TRUE(IsKnown(kLong));
  EXPECT_FALSE(IsKnown(2));
  EXPECT_TRUE(IsKnown(kShort - 1));
}

}  // namespace
}  // namespace profd::python
