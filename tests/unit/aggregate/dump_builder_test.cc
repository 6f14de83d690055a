#include "daemon/aggregate/dump_builder.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bpf/shared/labels.h"

namespace profd::aggregate {
namespace {

using process::State;
using process::WaitReason;

constexpr ProcessKey kProcess{10, 1};

class DumpBuilderTest : public testing::Test {
 protected:
  static wire::EventHeader Header(std::uint32_t tid) {
    wire::EventHeader header;
    header.process = kProcess;
    header.thread = {tid, 1};
    return header;
  }
  static symbolize::SymbolizedSample Sample(std::uint32_t tid, std::uint64_t time_ns,
                                            std::vector<symbolize::FrameId> frames) {
    symbolize::SymbolizedSample symbolized;
    symbolized.sample.process = kProcess;
    symbolized.sample.thread = {tid, 1};
    symbolized.sample.time_ns = time_ns;
    symbolized.frames = std::move(frames);
    return symbolized;
  }
  static symbolize::SymbolizedSample Snapshot(std::uint32_t tid, std::uint64_t time_ns, State state,
                                              std::uint64_t since_ns,
                                              std::vector<symbolize::FrameId> frames = {}) {
    auto symbolized = Sample(tid, time_ns, std::move(frames));
    symbolized.sample.snapshot = true;
    symbolized.sample.state = state;
    symbolized.sample.begin_ns = since_ns;
    return symbolized;
  }
  void AddClock(std::uint32_t tid, std::uint64_t epoch_ns, profd_thread_state state) {
    wire::ClockEvent event;
    event.header = Header(tid);
    event.epoch_ns = epoch_ns;
    event.since_ns = epoch_ns - 5;
    event.state = state;
    event.comm = "worker";
    builder_.AddClock(event);
  }
  [[nodiscard]] Dump Build() const {
    return builder_.Build([this](symbolize::FrameId id) -> const symbolize::Frame& {
      frame_.name = "f" + std::to_string(id);
      return frame_;
    });
  }
  static std::string Names(const Dump& dump, const DumpThread& thread) {
    std::string names;
    for (const auto frame : thread.frames) names += dump.frames.at(frame).name;
    return names;
  }

  mutable symbolize::Frame frame_;
  DumpBuilder builder_{ProfileOrigin{}, 3};
};

TEST_F(DumpBuilderTest, AThreadHasTheLabelsThatCameWithItsStack) {
  const auto keys = [](std::vector<std::string> names) {
    return std::make_shared<const process::LabelKeys>(process::LabelKeys{0, std::move(names), ""});
  };
  profd_label_head head{};
  head.attribute_bytes = 3;
  auto snapshot = Snapshot(11, 120, State::kBlocked, 30, {3});
  snapshot.sample.labels.assign(reinterpret_cast<const char*>(&head), sizeof head);
  snapshot.sample.labels.append({'\1', '\1', '7'});
  snapshot.sample.label_keys = keys({"phase"});
  builder_.AddSample(snapshot);
  builder_.AddSample(Snapshot(12, 120, State::kBlocked, 30, {3}));
  auto info = std::make_shared<process::ProcessInfo>();
  info->key = kProcess;
  info->label_keys = keys({"phase", "step"});  // it names its second attribute later
  builder_.AddProcess(info);
  const Dump dump = Build();
  ASSERT_EQ(dump.threads.size(), 2u);
  EXPECT_EQ(dump.threads[0].labels, (Labels{{"step", "7"}}));
  EXPECT_TRUE(dump.threads[1].labels.empty());
}

TEST_F(DumpBuilderTest, AThreadThatWaitsHasTheStackOfItsSnapshot) {
  AddClock(11, 100, PROFD_STATE_BLOCKED);
  builder_.AddSample(Sample(11, 90, {1, 2}));
  auto snapshot = Snapshot(11, 120, State::kBlocked, 30, {3, 2});
  snapshot.sample.wait = WaitReason::kPoll;
  snapshot.uncertain_from = 1;
  builder_.AddSample(snapshot);
  const Dump dump = Build();
  ASSERT_EQ(dump.threads.size(), 1u);
  const DumpThread& thread = dump.threads[0];
  EXPECT_EQ(Names(dump, thread), "f3f2");
  EXPECT_EQ(thread.uncertain_from, 1u);
  EXPECT_EQ(thread.state, State::kBlocked);
  EXPECT_EQ(thread.wait, WaitReason::kPoll);
  EXPECT_EQ(thread.comm, "worker");
  EXPECT_EQ(thread.since_ns, 30u);
  EXPECT_EQ(thread.seen_ns, 120u);
  EXPECT_EQ(thread.stack_ns, 120u);
  EXPECT_EQ(dump.time_ns, 120u);
}

TEST_F(DumpBuilderTest, OneThatRunsHasTheSampleOfThisWindowOnly) {
  builder_.AddSample(Sample(11, 110, {1}));
  builder_.AddSample(Snapshot(11, 120, State::kOnCpu, 105));
  builder_.AddSample(Sample(12, 100, {2}));  // before it came to its CPU
  builder_.AddSample(Snapshot(12, 120, State::kOnCpu, 105));
  const Dump dump = Build();
  ASSERT_EQ(dump.threads.size(), 2u);
  EXPECT_EQ(Names(dump, dump.threads[0]), "f1");
  EXPECT_EQ(dump.threads[0].stack_ns, 110u);
  EXPECT_EQ(dump.threads[0].seen_ns, 120u);
  EXPECT_TRUE(dump.threads[0].no_stack.empty());
  EXPECT_TRUE(dump.threads[1].frames.empty());
  EXPECT_EQ(dump.threads[1].stack_ns, 0u);
  EXPECT_FALSE(dump.threads[1].no_stack.empty());
}

TEST_F(DumpBuilderTest, TheGilIsAsOfTheLookNotOfTheSample) {
  auto sample = Sample(11, 110, {1});
  sample.sample.python_flags = PROFD_PYTHON_THREAD;
  sample.sample.gil = process::Gil::kHeld;
  builder_.AddSample(sample);
  auto snapshot = Snapshot(11, 120, State::kOnCpu, 105);
  snapshot.sample.python_flags = PROFD_PYTHON_THREAD;
  snapshot.sample.gil = process::Gil::kNotHeld;
  builder_.AddSample(snapshot);
  const Dump dump = Build();
  ASSERT_EQ(dump.threads.size(), 1u);
  EXPECT_TRUE(dump.threads[0].python);
  EXPECT_EQ(dump.threads[0].gil, process::Gil::kNotHeld);
}

TEST_F(DumpBuilderTest, OfAWokenThreadItIsNotKnownSinceWhen) {
  auto snapshot = Snapshot(11, 120, State::kRunnable, 30, {1});
  snapshot.sample.woken = true;
  builder_.AddSample(snapshot);
  EXPECT_EQ(Build().threads.at(0).since_ns, 0u);
}

TEST_F(DumpBuilderTest, AThreadWithoutSnapshotHasItsClockAndAReason) {
  AddClock(11, 100, PROFD_STATE_BLOCKED);
  AddClock(11, 200, PROFD_STATE_RUNNABLE);
  const Dump dump = Build();
  ASSERT_EQ(dump.threads.size(), 1u);
  EXPECT_EQ(dump.threads[0].state, State::kRunnable);
  EXPECT_EQ(dump.threads[0].seen_ns, 200u);
  EXPECT_FALSE(dump.threads[0].no_stack.empty());
}

TEST_F(DumpBuilderTest, AThreadThatHasEndedIsLeftOut) {
  AddClock(11, 100, PROFD_STATE_BLOCKED);
  wire::ExitEvent exit;
  exit.header = Header(11);
  builder_.AddExit(exit);
  EXPECT_TRUE(Build().threads.empty());
}

TEST_F(DumpBuilderTest, ThreadsBeyondTheBoundAreCounted) {
  for (std::uint32_t tid = 11; tid < 16; ++tid)
    builder_.AddSample(Snapshot(tid, 120, State::kBlocked, 30, {1}));
  const Dump dump = Build();
  EXPECT_EQ(dump.threads.size(), 3u);
  EXPECT_EQ(dump.threads_left_out, 2u);
}

}  // namespace
}  // namespace profd::aggregate
