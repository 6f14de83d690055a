// What one process or user may have of the work that all Python processes share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/python/feed/code_backfill.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/reader/message.h"
#include "tests/support/direct_reader.h"
#include "tests/support/manual_clock.h"
#include "tests/support/raw_events.h"
#include "tests/unit/python/found_process.h"

namespace profd::python {
namespace {

using reader::Packer;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kVersion = 0x030c01f0;
constexpr std::uint32_t kHostile = 1;
constexpr std::uint32_t kOther = 2;
constexpr std::uint32_t kFirstOther = 5'000;  // the processes from here on are kOther's
constexpr std::uint64_t kSecond = 1'000'000'000;

std::uint32_t UserOf(std::uint32_t pid) { return pid < kFirstOther ? kHostile : kOther; }

// Answers one code object in each request.
class OneAtATime : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds /*patience*/) override {
    ++read[request.name];
    order.push_back(request.name);
    return Packer()
        .Number(std::uint32_t{1})
        .Number(std::uint32_t{1})
        .Number(true)
        .Number(std::int32_t{1})
        .Text("f")
        .Text("f")
        .Text("f.py")
        .Text(std::string(line_bytes, 'x'))
        .Take();
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

  std::size_t line_bytes = 2;
  std::unordered_map<std::string, std::uint64_t> read;  // by name of the request
  std::vector<std::string> order;                       // names of the requests
};

class CodeSharesTest : public testing::Test {
 protected:
  CodeSharesTest() {
    clock_.Set(kSecond, 0);
    backfill_.BeginRound();
    profd_session_event begin{};
    begin.event = test::RawHeader(1, 1);
    backfill_.Pass({test::RawEventBytes(PROFD_EVENT_SESSION_START, begin)}, sink_);
  }
  // The service has found an interpreter there.
  void Find(std::uint32_t pid) { ASSERT_TRUE(facts_.Push(FoundProcess(pid, kVersion))); }
  // Samples of a process with so many code objects that were never seen before; how many of these
  // are read.
  std::uint64_t Run(std::uint32_t pid, std::uint64_t codes) {
    constexpr std::uint64_t kAtOnce = 250;  // in one sample
    const std::uint64_t before = Read(pid);
    for (std::uint64_t done = 0; done < codes; done += kAtOnce) {
      Sample(pid, kAtOnce);
      backfill_.EndRound(sink_);
    }
    return Read(pid) - before;
  }
  void Sample(std::uint32_t pid, std::uint64_t codes) {
    std::vector<std::uint64_t> words;
    for (std::uint64_t i = 0; i < codes; ++i) {
      words.push_back(0x1000 + 64 * made_++);
      words.push_back(std::uint64_t{1} << 32 | 4);
    }
    profd_sample_event fixed{};
    fixed.event = test::RawHeader(clock_.MonotonicNs(), pid);
    fixed.python_words = static_cast<__u16>(words.size());
    backfill_.Pass({test::RawEventBytes(PROFD_EVENT_ON_CPU, fixed, test::RawNumbers(words))},
                   sink_);
  }
  static std::string NameOf(std::uint32_t pid) {
    return "Python code of process " + std::to_string(pid);
  }
  std::uint64_t Read(std::uint32_t pid) { return readers_.read[NameOf(pid)]; }

  test::ManualClock clock_;
  FactQueue facts_;
  OneAtATime readers_;
  CodeShares shares_{clock_};
  CodeBackfill backfill_{facts_, readers_, clock_, shares_, UserOf};
  const wire::EventSource::Sink sink_ = [](const wire::RawEvent&) {};
  std::uint64_t made_ = 0;
};

TEST_F(CodeSharesTest, OneProcessLeavesWhatOthersNeed) {
  Find(7);
  Find(kFirstOther);
  EXPECT_EQ(Run(7, 25'000), CodeShares::kOfProcess.at_once);
  EXPECT_EQ(Run(kFirstOther, 2'000), 2'000u);
  const auto beyond = shares_.of_process.Beyond();
  ASSERT_THAT(beyond, SizeIs(1));
  EXPECT_EQ(beyond[0].key.id, 7u);
  EXPECT_EQ(beyond[0].count, 25'000 - CodeShares::kOfProcess.at_once);
  clock_.Set(2 * kSecond, 0);
  backfill_.BeginRound();
  EXPECT_EQ(Run(7, 25'000), CodeShares::kOfProcess.per_second);
}

TEST_F(CodeSharesTest, ManyProcessesOfAUserLeaveWhatOthersNeed) {
  Find(kFirstOther);
  std::uint64_t read = 0;
  for (std::uint32_t pid = 1; pid <= 25; ++pid) {
    Find(pid);
    read += Run(pid, 1'000);
  }
  EXPECT_EQ(read, CodeShares::kOfUser.at_once);
  EXPECT_EQ(Run(kFirstOther, 2'000), 2'000u);
  EXPECT_THAT(shares_.of_process.Beyond(), IsEmpty());
  const auto beyond = shares_.of_user.Beyond();
  ASSERT_THAT(beyond, SizeIs(1));
  EXPECT_EQ(beyond[0].key.id, kHostile);
}

TEST_F(CodeSharesTest, InARoundWhoNeedsLeastComesFirst) {
  for (const std::uint32_t hostile : {7u, kFirstOther + 7}) {
    const std::uint32_t other = hostile == 7 ? kFirstOther : 8;
    Find(std::min(hostile, other));
    Find(std::max(hostile, other));
    for (int i = 0; i < 8; ++i) Sample(hostile, 250);
    Sample(other, 10);
    readers_.order.clear();
    backfill_.EndRound(sink_);
    ASSERT_GT(readers_.order.size(), 10u);
    EXPECT_EQ(readers_.order[0], NameOf(other));
    EXPECT_EQ(readers_.order[9], NameOf(other));
  }
}

TEST_F(CodeSharesTest, LongTextsCountMore) {
  Find(7);
  readers_.line_bytes = 1u << 20;
  // Of one sample they are read together; then the share is used up.
  EXPECT_EQ(Run(7, 25'000), 250u);
}

// Answers that a process has no interpreter.
class NoInterpreters : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds /*patience*/) override {
    const std::scoped_lock lock(mutex_);
    const auto pid = std::stoul(request.name.substr(request.name.rfind(' ') + 1));
    ++requested_[UserOf(static_cast<std::uint32_t>(pid))];
    return Packer().Number(std::uint32_t{0}).Take();
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }
  std::uint64_t requested(std::uint32_t user) {
    const std::scoped_lock lock(mutex_);
    return requested_[user];
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::uint64_t> requested_;
};

class NoMap : public PythonProcesses {
 public:
  bool Put(std::uint32_t /*pid*/, std::span<const profd_python_process> /*runtimes*/) override {
    return true;
  }
  void Remove(std::uint32_t /*pid*/) override {}
};

TEST(PythonSearches, ExecsWithoutEndLeaveTimeForOthers) {
  constexpr std::uint64_t kAtOnce = 10;
  constexpr std::uint32_t kExecs = 3'000;
  test::ManualClock clock;
  clock.Set(kSecond, 0);
  budget::Shares shares(PROFD_SHARE_PYTHON_SEARCHES, {.per_second = 1, .at_once = kAtOnce}, clock);
  NoInterpreters readers;
  NoMap map;
  FactQueue facts;
  PythonService service(map, facts, readers, shares, ProcFs("/nonexistent"), UserOf);
  const auto exec = [&](std::uint32_t pid) {
    service.See({test::RawTask(PROFD_EVENT_EXEC, test::RawHeader(1, pid), "python")});
  };
  for (std::uint32_t pid = 1; pid <= kExecs; ++pid) exec(pid);
  for (std::uint32_t i = 0; i < kAtOnce; ++i) exec(kFirstOther + i);
  ASSERT_TRUE(service.Await(std::chrono::minutes(1)));
  EXPECT_EQ(readers.requested(kHostile), kAtOnce);
  EXPECT_EQ(readers.requested(kOther), kAtOnce);
  EXPECT_GT(service.counters().dropped.value(), 0u) << "few wait, for all others have to, too";
  const auto beyond = shares.Beyond();
  ASSERT_THAT(beyond, SizeIs(1));
  EXPECT_EQ(beyond[0].key.id, kHostile);
}

}  // namespace
}  // namespace profd::python
