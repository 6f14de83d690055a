// The thread that keeps processes with labels known, with answers made for the test.
#include "daemon/labels/label_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/reader/message.h"
#include "tests/support/eventually.h"
#include "tests/support/manual_clock.h"

namespace profd::labels {
namespace {

using reader::Packer;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ProcessKey kProcess{10, 1};
constexpr ProcessKey kOther{11, 2};
constexpr std::chrono::seconds kLong{60};

// Answers what was set last for a process; without that, that it publishes nothing.
class Readers : public reader::Readers {
 public:
  Result<std::string> Ask(const reader::ReaderRequest& request,
                          std::chrono::milliseconds /*patience*/) override {
    reader::Unpacker fields(request.body);
    const auto pid = fields.Number<std::uint32_t>();
    const std::scoped_lock lock(mutex_);
    ++requests_[pid];
    const auto answer = answers_.find(pid);
    return answer == answers_.end() ? Packer().Number(false).Take() : answer->second;
  }
  bool IsHeldBy(std::uint64_t /*target*/) const override { return false; }

  void Publish(ProcessKey process, const std::vector<std::string>& keys,
               const std::string& refused = "") {
    Packer answer;
    answer.Number(true).Number(std::int64_t{-64}).Number(std::uint32_t{0});
    answer.Number(std::uint32_t{16}).Text(refused).Number(static_cast<std::uint32_t>(keys.size()));
    for (const auto& key : keys) answer.Text(key);
    Set(process, answer.Take());
  }
  void Set(ProcessKey process, Result<std::string> answer) {
    const std::scoped_lock lock(mutex_);
    answers_.insert_or_assign(process.pid, std::move(answer));
  }
  int requests(ProcessKey process) {
    const std::scoped_lock lock(mutex_);
    return requests_[process.pid];
  }

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, Result<std::string>> answers_;
  std::map<std::uint32_t, int> requests_;
};

class Processes : public LabelProcesses {
 public:
  bool Put(std::uint32_t pid, const profd_label_process& process) override {
    const std::scoped_lock lock(mutex_);
    if (full) return false;
    known_[pid] = process;
    return true;
  }
  void Remove(std::uint32_t pid) override {
    const std::scoped_lock lock(mutex_);
    known_.erase(pid);
  }
  std::map<std::uint32_t, std::uint64_t> known() {  // with the start of the process
    const std::scoped_lock lock(mutex_);
    std::map<std::uint32_t, std::uint64_t> starts;
    for (const auto& [pid, process] : known_) starts[pid] = process.process_start_ns;
    return starts;
  }
  bool full = false;

 private:
  std::mutex mutex_;
  std::map<std::uint32_t, profd_label_process> known_;
};

class LabelServiceTest : public ::testing::Test {
 protected:
  LabelServiceTest() { clock_.Set(1'000, 0); }

  void Look(ProcessKey process) {
    service_.Look(process);
    ASSERT_TRUE(service_.Await(kLong));
  }

  test::ManualClock clock_;
  Readers readers_;
  Processes processes_;
  LabelService service_{processes_, readers_, clock_};
};

TEST_F(LabelServiceTest, WhatIsFoundGoesToBothSides) {
  readers_.Publish(kProcess, {"step"});
  Look(kProcess);
  EXPECT_THAT(processes_.known(), ElementsAre(std::pair(10u, 1u)));
  const auto found = service_.TakeFound();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].process, kProcess);
  EXPECT_EQ(found[0].time_ns, 1'000u);
  EXPECT_THAT(found[0].facts.keys, ElementsAre("step"));
  EXPECT_THAT(service_.TakeFound(), IsEmpty());
  Look(kProcess);
  EXPECT_THAT(service_.TakeFound(), IsEmpty()) << "nothing has changed";
}

TEST_F(LabelServiceTest, AProcessMayPublishLater) {
  Look(kProcess);
  EXPECT_THAT(processes_.known(), IsEmpty());
  readers_.Publish(kProcess, {"step"});
  EXPECT_TRUE(test::Eventually([&] { return processes_.known().size() == 1; }));
  const int requests = readers_.requests(kProcess);
  Look(kOther);
  ASSERT_TRUE(test::Eventually([&] { return readers_.requests(kOther) == 5; }));
  EXPECT_EQ(readers_.requests(kProcess), requests) << "nothing more is to be found there";
}

TEST_F(LabelServiceTest, MoreNamesAreFoundWhenOneIsUsed) {
  readers_.Publish(kProcess, {"step"});
  Look(kProcess);
  (void)service_.TakeFound();
  readers_.Publish(kProcess, {"step", "phase"});
  service_.LookAgain({kProcess.pid, 0});
  std::vector<FoundLabels> found;
  ASSERT_TRUE(test::Eventually([&] {
    found = service_.TakeFound();
    return !found.empty();
  }));
  EXPECT_THAT(found[0].facts.keys, ElementsAre("step", "phase"));
}

TEST_F(LabelServiceTest, WhyLabelsCannotBeReadIsReportedAndTriedAgain) {
  readers_.Publish(kProcess, {"step"}, "no such variable");
  Look(kProcess);
  EXPECT_THAT(processes_.known(), IsEmpty());
  const auto found = service_.TakeFound();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].facts.refused, "no such variable");
  EXPECT_TRUE(test::Eventually([&] { return service_.counters().refused.value() == 1; }));
  readers_.Publish(kProcess, {"step"});
  EXPECT_TRUE(test::Eventually([&] { return processes_.known().size() == 1; }));
}

TEST_F(LabelServiceTest, AProcessThatIsGoneOrExecutesIsForgotten) {
  readers_.Publish(kProcess, {"step"});
  readers_.Publish(kOther, {"step"});
  Look(kProcess);
  Look(kOther);
  service_.Forget(kProcess);
  ASSERT_TRUE(service_.Await(kLong));
  EXPECT_THAT(processes_.known(), ElementsAre(std::pair(11u, 2u)));
  readers_.Set(kOther, Error{ErrorCode::kNotFound, "gone", ""});
  Look(kOther);
  EXPECT_THAT(processes_.known(), IsEmpty());
}

TEST_F(LabelServiceTest, AnotherProcessOfThatNumber) {
  readers_.Publish(kProcess, {"step"});
  Look(kProcess);
  Look({kProcess.pid, 99});
  EXPECT_THAT(processes_.known(), ElementsAre(std::pair(10u, 99u)));
}

TEST_F(LabelServiceTest, ALateAnswerKeepsWhatIsKnown) {
  readers_.Publish(kProcess, {"step"});
  Look(kProcess);
  readers_.Set(kProcess, Error{ErrorCode::kUnavailable, "is being read", ""});
  Look(kProcess);
  EXPECT_EQ(processes_.known().size(), 1u);
}

TEST_F(LabelServiceTest, WithoutSessionsNothingIsKnownOrLookedAt) {
  readers_.Publish(kProcess, {"step"});
  Look(kProcess);
  Look(kOther);
  service_.ForgetAll();
  ASSERT_TRUE(service_.Await(kLong));
  EXPECT_THAT(processes_.known(), IsEmpty());
  EXPECT_EQ(service_.counters().known.value(), 0u);
  const int requests = readers_.requests(kOther);
  const ProcessKey later{12, 3};
  Look(later);
  ASSERT_TRUE(test::Eventually([&] { return readers_.requests(later) == 5; }));
  EXPECT_EQ(readers_.requests(kOther), requests);
}

TEST_F(LabelServiceTest, NoRoomIsCounted) {
  processes_.full = true;
  readers_.Publish(kProcess, {"step"});
  Look(kProcess);
  EXPECT_TRUE(test::Eventually([&] { return service_.counters().dropped.value() == 1; }));
}

}  // namespace
}  // namespace profd::labels
