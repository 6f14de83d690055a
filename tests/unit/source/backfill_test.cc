#include "daemon/source/procfs/backfill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "daemon/wire/event_bytes.h"
#include "tests/support/manual_clock.h"
#include "tests/unit/source/fake_proc.h"

namespace profd::source {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kRoundNs = 50 * kMs;

// A start time whose tick is unlike that of any other pid.
std::uint64_t StartOf(std::uint32_t pid) { return 1'000'000'000 + 10'000'000ull * pid; }

profd_event Header(std::uint32_t pid, std::uint64_t time_ns) {
  profd_event header{};
  header.time_ns = time_ns;
  header.pid = pid;
  header.tid = pid;
  header.process_start_ns = StartOf(pid);
  header.thread_start_ns = StartOf(pid);
  return header;
}

wire::EventBytes Sample(std::uint32_t pid, std::uint64_t time_ns) {
  profd_sample_event sample{};
  sample.event = Header(pid, time_ns);
  return wire::LayOut(PROFD_EVENT_ON_CPU, sample);
}

wire::EventBytes Task(profd_event_kind kind, std::uint32_t pid, std::uint64_t time_ns,
                      std::uint16_t flags = 0, std::uint32_t parent = 0) {
  profd_task_event task{};
  task.event = Header(pid, time_ns);
  task.event.flags = flags;
  task.parent_pid = parent;
  task.parent_process_start_ns = parent == 0 ? 0 : StartOf(parent);
  return wire::LayOut(kind, task);
}

wire::EventBytes Mmap(std::uint32_t pid, std::uint64_t time_ns) {
  profd_mmap_event mmap{};
  mmap.event.pid = pid;
  mmap.event.time_ns = time_ns;
  return wire::LayOutMmap(mmap, "/lib/x.so");
}

wire::EventBytes Session(profd_event_kind kind) {
  return wire::LayOutSession(kind, profd_session_event{}, "");
}

const std::map<int, std::string> kNames = {
    {PROFD_EVENT_ON_CPU, "sample"},       {PROFD_EVENT_FORK, "fork"},
    {PROFD_EVENT_EXEC, "exec"},           {PROFD_EVENT_EXIT, "exit"},
    {PROFD_EVENT_PROCESS, "process"},     {PROFD_EVENT_MMAP, "mmap"},
    {PROFD_EVENT_SESSION_START, "start"}, {PROFD_EVENT_SESSION_END, "end"}};

// What came out of the rounds so far: "process 12 @100" (time in ms).
class BackfillTest : public testing::Test {
 protected:
  void Round(const std::vector<wire::EventBytes>& events) {
    now_ns_ += kRoundNs;
    clock_.Set(now_ns_, 0);
    backfill_.BeginRound();
    for (const wire::EventBytes& event : events) backfill_.Pass(wire::RawEvent{event}, sink_);
    backfill_.EndRound(sink_);
  }
  std::vector<std::string> Take() { return std::exchange(out_, {}); }

  FakeProc fake_;
  test::ManualClock clock_;
  std::uint64_t now_ns_ = 1'000 * kMs;
  std::vector<std::string> out_;
  wire::EventSource::Sink sink_ = [this](const wire::RawEvent& event) {
    profd_event header{};
    ASSERT_TRUE(wire::ReadHeader(event.bytes, &header));
    out_.push_back(kNames.at(header.kind) + " " + std::to_string(header.pid) + " @" +
                   std::to_string(header.time_ns / kMs));
  };
  Backfill backfill_{ProcessReader(fake_.proc(), fake_.readers()), clock_};
};

TEST_F(BackfillTest, AProcessNotMetIsReadOnceAndBeforeItsFirstEvent) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({});
  Round({});  // begins at 1,100 ms
  Round({Sample(12, 1'120 * kMs), Sample(12, 1'130 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("process 12 @1100", "sample 12 @1120", "sample 12 @1130"))
      << "the time stamp is that up to which every event has been delivered";
  Round({Sample(12, 1'160 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("sample 12 @1160"));
}

TEST_F(BackfillTest, TheTimeStampIsNotYoungerThanTheEvent) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({});
  Round({});
  Round({Sample(12, 900 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("process 12 @900", "sample 12 @900"));
}

TEST_F(BackfillTest, AProcessThatIsGoneIsCountedAndNotReadAgain) {
  Round({Sample(12, 0), Sample(12, 1)});
  EXPECT_THAT(Take(), ElementsAre("sample 12 @0", "sample 12 @0"));
  EXPECT_EQ(backfill_.gone(), 1u);
}

TEST_F(BackfillTest, ANumberUsedAgainIsAnotherProcess) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Sample(12, 0)});
  Take();
  fake_.Remove(12);
  fake_.AddProcess(12, StartOf(12) + 1'000 * kMs, "other");
  profd_sample_event sample{};
  sample.event = Header(12, 0);
  sample.event.process_start_ns += 1'000 * kMs;
  Round({wire::LayOut(PROFD_EVENT_ON_CPU, sample), Sample(12, 0)});
  EXPECT_THAT(Take(), ElementsAre("process 12 @0", "sample 12 @0", "sample 12 @0"))
      << "a late event of the older process asks for nothing";
}

TEST_F(BackfillTest, ExecIsFollowedByWhatProcSays) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Task(PROFD_EVENT_EXEC, 12, 1'010 * kMs), Sample(12, 1'020 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("exec 12 @1010", "process 12 @1010", "sample 12 @1020"));
}

TEST_F(BackfillTest, AProgramThatLivesOnIsReadOnceMore) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Task(PROFD_EVENT_EXEC, 12, 1'010 * kMs), Sample(12, 1'020 * kMs)});
  Take();
  now_ns_ += Backfill::kSettledNs / 2;
  Round({Sample(12, now_ns_)});
  EXPECT_EQ(Take().size(), 1u) << "it is too young";
  now_ns_ += Backfill::kSettledNs / 2;
  Round({Sample(12, now_ns_)});
  const auto again = Take();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_THAT(again[0], testing::StartsWith("process 12"));
  now_ns_ += 10 * Backfill::kSettledNs;
  Round({Sample(12, now_ns_)});
  EXPECT_EQ(Take().size(), 1u);
}

TEST_F(BackfillTest, AChildOfAProcessThatWasMetIsKnown) {
  fake_.AddProcess(12, StartOf(12), "parent");
  fake_.AddProcess(13, StartOf(13), "child");
  Round({Sample(12, 0), Task(PROFD_EVENT_FORK, 13, 0, PROFD_TASK_NEW_PROCESS, 12), Sample(13, 0),
         Mmap(13, 0)});
  EXPECT_THAT(Take(), ElementsAre("process 12 @0", "sample 12 @0", "fork 13 @0", "sample 13 @0",
                                  "mmap 13 @0"));
}

TEST_F(BackfillTest, AChildOfAProcessNotMetIsRead) {
  fake_.AddProcess(13, StartOf(13), "child");
  Round({Task(PROFD_EVENT_FORK, 13, 1'020 * kMs, PROFD_TASK_NEW_PROCESS, 12),
         Sample(13, 1'030 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("fork 13 @1020", "process 13 @1020", "sample 13 @1030"));
}

TEST_F(BackfillTest, ANewThreadOfAProcessNotMetIsExplained) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Task(PROFD_EVENT_FORK, 12, 5 * kMs, 0, 12)});
  EXPECT_THAT(Take(), ElementsAre("process 12 @0", "fork 12 @5"));
}

TEST_F(BackfillTest, MappingsOfOthersAreHeldForARoundAndThrownAway) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Mmap(12, 7 * kMs), Mmap(13, 8 * kMs)});
  EXPECT_THAT(Take(), IsEmpty());
  Round({Task(PROFD_EVENT_EXEC, 12, 6 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("exec 12 @6", "process 12 @6", "mmap 12 @7"));
  Round({Sample(13, 9 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("sample 13 @9")) << "its mapping was discarded";
}

TEST_F(BackfillTest, HeldMappingsAreBounded) {
  Round(std::vector<wire::EventBytes>(Backfill::kMaxHeld + 5, Mmap(12, 0)));
  EXPECT_EQ(backfill_.dropped(), 5u);
}

TEST_F(BackfillTest, BeyondItsShareAProcessIsReadOnceASecond) {
  fake_.AddProcess(1, StartOf(1), "worker");
  fake_.AddProcess(2, StartOf(2), "worker");
  Round({Sample(1, 1'000 * kMs), Sample(2, 1'000 * kMs)});
  Take();
  const std::vector<wire::EventBytes> storm(Backfill::kShareBurst + 100, Mmap(1, 1'060 * kMs));
  Round(storm);
  EXPECT_EQ(Take().size(), Backfill::kShareBurst);
  EXPECT_EQ(backfill_.beyond_share(), 100u);
  const auto beyond = backfill_.ProcessesBeyondShare();
  ASSERT_EQ(beyond.size(), 1u);
  EXPECT_EQ(beyond[0].key.kind, PROFD_SHARE_MAPPINGS);
  EXPECT_EQ(beyond[0].key.id, 1u);
  EXPECT_EQ(beyond[0].count, 100u);
  // What is to come need not even be passed; that of others must.
  EXPECT_TRUE(backfill_.IsBeyondShare(1));
  EXPECT_EQ(backfill_.beyond_share(), 101u);
  EXPECT_FALSE(backfill_.IsBeyondShare(2));
  EXPECT_FALSE(backfill_.IsBeyondShare(3)) << "it was not met";
  // Another one has its own share.
  Round({Mmap(2, 1'120 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("mmap 2 @1120"));

  // It has been read less than a second ago.
  Round({Sample(1, 1'200 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("sample 1 @1200"));
  now_ns_ += 1'000 * kMs;
  Round({Sample(1, 2'210 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("process 1 @1200", "sample 1 @2210"));
  Round({Sample(1, 2'260 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("sample 1 @2260"));

  // Its share comes back with time, and it is not named for ever.
  now_ns_ += Backfill::kKeptBeyondNs;
  Round({Mmap(1, 122'300 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("mmap 1 @122300"));
  EXPECT_THAT(backfill_.ProcessesBeyondShare(), IsEmpty());
}

TEST_F(BackfillTest, ExecsCountInTheShareToo) {
  fake_.AddProcess(1, StartOf(1), "worker");
  const std::vector<wire::EventBytes> storm(Backfill::kShareBurst + 100,
                                            Task(PROFD_EVENT_EXEC, 1, 1'050 * kMs));
  Round(storm);
  std::size_t reads = 0;
  for (const std::string& one : Take()) reads += one.starts_with("process") ? 1 : 0;
  EXPECT_LE(reads, Backfill::kReadBurst);
  EXPECT_EQ(backfill_.beyond_share(), 100u);
}

TEST_F(BackfillTest, WhenMappingsAreLostAllAreReadAgain) {
  fake_.AddProcess(1, StartOf(1), "worker");
  fake_.AddProcess(2, StartOf(2), "worker");
  Round({Sample(1, 1'000 * kMs), Sample(2, 1'000 * kMs)});
  now_ns_ += 1'000 * kMs;
  Take();
  backfill_.LostMappings();
  Round({Sample(1, 2'100 * kMs), Sample(2, 2'100 * kMs), Sample(2, 2'101 * kMs)});
  const auto out = Take();
  EXPECT_EQ(out.size(), 5u);
  EXPECT_THAT(out, testing::Contains(testing::StartsWith("process 1 ")));
  EXPECT_THAT(out, testing::Contains(testing::StartsWith("process 2 ")));
  // Once a second is enough.
  backfill_.LostMappings();
  Round({Sample(1, 2'150 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("sample 1 @2150"));
}

TEST_F(BackfillTest, AProcessThatEndedIsForgottenARoundLater) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Sample(12, 0), Task(PROFD_EVENT_EXIT, 12, 0, PROFD_TASK_LAST_THREAD)});
  Take();
  Round({Sample(12, 0)});
  EXPECT_THAT(Take(), ElementsAre("sample 12 @0")) << "a late event asks for nothing";
  Round({Sample(12, 0)});
  EXPECT_EQ(Take().front().substr(0, 7), "process");
}

TEST_F(BackfillTest, WhenNoSessionRunsEverythingIsForgotten) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Session(PROFD_EVENT_SESSION_START), Session(PROFD_EVENT_SESSION_START), Sample(12, 0)});
  Take();
  Round({Session(PROFD_EVENT_SESSION_END), Sample(12, 0)});
  EXPECT_THAT(Take(), ElementsAre("end 0 @0", "sample 12 @0"));
  Round({Session(PROFD_EVENT_SESSION_END), Sample(12, 0)});
  EXPECT_EQ(Take().size(), 3u);
}

TEST_F(BackfillTest, ReadingIsRationedAndMadeUpForLater) {
  constexpr std::uint32_t kLast = Backfill::kReadBurst + 1;
  fake_.AddProcess(kLast, StartOf(kLast), "w");
  std::vector<wire::EventBytes> storm;
  for (std::uint32_t pid = 1; pid <= kLast; ++pid) storm.push_back(Sample(pid, 0));
  Round(storm);
  EXPECT_EQ(Take().size(), storm.size()) << "the last one has to wait";
  EXPECT_EQ(backfill_.gone(), Backfill::kReadBurst);
  Round({storm.back(), storm.back()});
  EXPECT_THAT(Take(), ElementsAre("process 501 @0", "sample 501 @0", "sample 501 @0"));
}

TEST_F(BackfillTest, AnExecThatHadToWaitKeepsItsTime) {
  std::vector<wire::EventBytes> storm;
  for (std::uint32_t pid = 1; pid <= Backfill::kReadBurst; ++pid) storm.push_back(Sample(pid, 0));
  fake_.AddProcess(1'000, StartOf(1'000), "w");
  storm.push_back(Task(PROFD_EVENT_EXEC, 1'000, 1'070 * kMs));
  Round(storm);
  Take();
  Round({Sample(1'000, 1'090 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("process 1000 @1070", "sample 1000 @1090"))
      << "never before the exec, which would take it for the program before";
}

TEST_F(BackfillTest, ProcessesOfARoundAreReadTogetherAndKeepTheirOrder) {
  for (const std::uint32_t pid : {12u, 13u, 14u}) fake_.AddProcess(pid, StartOf(pid), "w");
  Round({Sample(12, 1'010 * kMs), Task(PROFD_EVENT_EXEC, 12, 1'020 * kMs), Sample(12, 1'030 * kMs),
         Sample(13, 1'012 * kMs),
         Task(PROFD_EVENT_FORK, 14, 1'015 * kMs, PROFD_TASK_NEW_PROCESS, 13),
         Sample(14, 1'016 * kMs)});
  EXPECT_THAT(Take(), ElementsAre("process 12 @0", "process 13 @0", "sample 12 @1010",
                                  "exec 12 @1020", "sample 13 @1012", "fork 14 @1015",
                                  "sample 14 @1016", "process 12 @1020", "sample 12 @1030"))
      << "of each process, and of a child after its parent, the order is that of the events";
}

TEST_F(BackfillTest, TheEventsOfASessionStayInIt) {
  fake_.AddProcess(12, StartOf(12), "worker");
  Round({Session(PROFD_EVENT_SESSION_START), Sample(12, 1'010 * kMs),
         Session(PROFD_EVENT_SESSION_END)});
  EXPECT_THAT(Take(), ElementsAre("start 0 @0", "process 12 @0", "sample 12 @1010", "end 0 @0"));
}

TEST_F(BackfillTest, WhatCouldNotBeReadInTimeIsReadAgain) {
  fake_.AddProcess(12, StartOf(12), "worker");
  test::LateReaders late;
  Backfill backfill(ProcessReader(fake_.proc(), late), clock_);
  const auto round = [&](std::uint64_t at_ms) {
    clock_.Set(at_ms * kMs, 0);
    backfill.BeginRound();
    backfill.Pass(wire::RawEvent{Sample(12, at_ms * kMs)}, sink_);
    backfill.EndRound(sink_);
  };
  round(1'000);
  EXPECT_THAT(Take(), ElementsAre("process 12 @0", "sample 12 @1000"));
  round(1'500);
  EXPECT_THAT(Take(), ElementsAre("sample 12 @1500")) << "once a second is enough";
  round(2'000);
  EXPECT_THAT(Take(), ElementsAre("process 12 @1500", "sample 12 @2000"));
}

TEST_F(BackfillTest, BytesThatAreNoEventGoNowhere) {
  Round({wire::EventBytes(8), wire::EventBytes(56)});
  EXPECT_THAT(Take(), IsEmpty());
}

}  // namespace
}  // namespace profd::source
