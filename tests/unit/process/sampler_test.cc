#include "daemon/process/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asm/unistd_64.h>

#include <string>
#include <vector>

#include "tests/support/process_events.h"

namespace profd::process {
namespace {

using namespace test;
using ::testing::SizeIs;

// "/a" lies at 0x1000..0x4000 from offset 0x10000 on, "/b" right behind it.
constexpr char kMaps[] =
    "1000-4000 r-xp 00010000 08:01 5 /a\n"
    "4000-6000 r-xp 00000000 08:01 6 /b\n"
    "8000-9000 r-xp 00000000 00:00 0 \n";

class SamplerTest : public ::testing::Test {
 protected:
  SamplerTest() { table_.Apply(ProcessAt(10, 7, kMaps)); }

  static wire::StackEvent OnCpu(std::vector<std::uint64_t> kernel,
                                std::vector<std::uint64_t> user) {
    wire::StackEvent event;
    event.header = HeaderAt(100, 7, 9);
    event.header.cpu = 3;
    event.header.sessions = 5;
    event.period_ns = 1'000;
    event.kernel_frames = std::move(kernel);
    event.user_frames = std::move(user);
    if (event.kernel_frames.empty()) event.flags = PROFD_SAMPLE_USER_MODE;
    return event;
  }

  static wire::StackEvent OffCpu(std::int32_t syscall, std::uint32_t task_state) {
    wire::StackEvent event = OnCpu({0xffffffff81000000}, {0x1100, 0x4200});
    event.origin = wire::SampleOrigin::kOffCpu;
    event.flags = 0;
    event.begin_ns = 40;
    event.runnable_ns = 20;
    event.blocked_points = 2;
    event.runnable_points = 1;
    event.syscall = syscall;
    event.task_state = task_state;
    return event;
  }

  ProcessTable table_;
  Sampler sampler_{table_};
};

TEST_F(SamplerTest, WhatTheEventSaysIsTakenOver) {
  wire::StackEvent event = OffCpu(__NR_futex, 1);
  event.stack_flags = PROFD_STACK_USER_TRUNCATED;
  event.flags = 3 << PROFD_SAMPLE_HALVINGS_SHIFT;
  const Sample sample = sampler_.Place(event);
  EXPECT_EQ(sample.time_ns, 100u);
  EXPECT_EQ(sample.process, (ProcessKey{7, 1'007}));
  EXPECT_EQ(sample.thread, (ThreadKey{9, 1'009}));
  EXPECT_EQ(sample.sessions, 5u);
  EXPECT_EQ(sample.cpu, 3u);
  EXPECT_EQ(sample.begin_ns, 40u);
  EXPECT_EQ(sample.runnable_ns, 20u);
  EXPECT_EQ(sample.period_ns, 1'000u);
  EXPECT_EQ(sample.halvings, 3u);
  EXPECT_EQ(sample.blocked_points, 2u);
  EXPECT_EQ(sample.runnable_points, 1u);
  EXPECT_EQ(sample.stack_flags, PROFD_STACK_USER_TRUNCATED);
  EXPECT_EQ(sample.state, State::kBlocked);
  EXPECT_EQ(sample.wait, WaitReason::kLock);
  EXPECT_FALSE(sample.snapshot);
}

TEST_F(SamplerTest, OnlySamplesOfARunningThreadSayWhatRanBesideIt) {
  wire::StackEvent event = OnCpu({}, {0x1100});
  EXPECT_EQ(sampler_.Place(event).sibling, Sibling::kUnknown);
  event.flags |= PROFD_SAMPLE_SIBLING_BUSY;
  EXPECT_EQ(sampler_.Place(event).sibling, Sibling::kBusy);
  EXPECT_EQ(sampler_.Place(event).halvings, 0u) << "the same bits of other samples";
  event.flags = PROFD_SAMPLE_SIBLING_IDLE;
  EXPECT_EQ(sampler_.Place(event).sibling, Sibling::kIdle);
  wire::StackEvent other = OffCpu(__NR_futex, 1);
  other.flags = PROFD_SAMPLE_SIBLING_BUSY;
  EXPECT_EQ(sampler_.Place(other).sibling, Sibling::kUnknown);
}

TEST_F(SamplerTest, StateFollowsOriginAndFlags) {
  EXPECT_EQ(sampler_.Place(OnCpu({}, {0x1000})).state, State::kOnCpu);
  EXPECT_EQ(sampler_.Place(OnCpu({}, {0x1000})).wait, WaitReason::kNone);
  wire::StackEvent preempted = OffCpu(__NR_futex, 1);
  for (const int flag : {PROFD_SAMPLE_PREEMPTED, PROFD_SAMPLE_YIELDED}) {
    preempted.flags = static_cast<std::uint16_t>(flag);
    EXPECT_EQ(sampler_.Place(preempted).state, State::kRunnable);
    EXPECT_EQ(sampler_.Place(preempted).wait, WaitReason::kNone);
  }
  EXPECT_EQ(sampler_.Place(OffCpu(__NR_sched_yield, 0)).state, State::kRunnable);
  wire::StackEvent snapshot = OffCpu(__NR_nanosleep, 1);
  snapshot.origin = wire::SampleOrigin::kSnapshot;
  EXPECT_EQ(sampler_.Place(snapshot).state, State::kBlocked);
  EXPECT_EQ(sampler_.Place(snapshot).wait, WaitReason::kSleep);
  EXPECT_TRUE(sampler_.Place(snapshot).snapshot);
  wire::StackEvent iowait = OffCpu(__NR_read, 2);
  iowait.flags = PROFD_SAMPLE_IOWAIT;
  EXPECT_EQ(sampler_.Place(iowait).wait, WaitReason::kIo);
  wire::StackEvent kernel_thread = OffCpu(-1, 0x402);
  kernel_thread.flags = PROFD_SAMPLE_KTHREAD;
  EXPECT_EQ(sampler_.Place(kernel_thread).wait, WaitReason::kOther);
}

TEST_F(SamplerTest, AnObservedSampleHasTheStateOfItsPoint) {
  wire::StackEvent event = OffCpu(__NR_futex, 0);
  event.runnable_ns = 0;
  event.observation = wire::Observation{.held_ns = 7, .stack_number = 3, .registers = 9};
  event.runnable_points = 0;
  event.blocked_points = 1;
  const Sample blocked = sampler_.Place(event);
  EXPECT_EQ(blocked.state, State::kBlocked) << "though its task state is a running one by now";
  EXPECT_EQ(blocked.wait, WaitReason::kLock);
  EXPECT_EQ(blocked.observation, event.observation);
  event.task_state = 1;
  event.runnable_points = 1;
  event.blocked_points = 0;
  const Sample runnable = sampler_.Place(event);
  EXPECT_EQ(runnable.state, State::kRunnable);
  EXPECT_EQ(runnable.wait, WaitReason::kNone);
  EXPECT_FALSE(sampler_.Place(OffCpu(__NR_futex, 1)).observation);
}

TEST_F(SamplerTest, UserFramesArePlacedInTheirFiles) {
  const Sample sample = sampler_.Place(OnCpu({}, {0x1100, 0x4200, 0x3000}));
  ASSERT_THAT(sample.frames, SizeIs(3));
  EXPECT_EQ(sample.frames[0].module->path, "/a");
  EXPECT_EQ(sample.frames[0].file_offset, 0x10100u);
  EXPECT_EQ(sample.frames[0].address, 0x1100u);
  EXPECT_FALSE(sample.frames[0].kernel);
  EXPECT_EQ(sample.frames[1].module->path, "/b");
  EXPECT_EQ(sample.frames[1].file_offset, 0x200u);
  EXPECT_EQ(sample.frames[2].module, sample.frames[0].module);
  EXPECT_EQ(sampler_.Counters().samples, 1u);
  EXPECT_EQ(sampler_.Counters().unplaced_frames, 0u);
}

TEST_F(SamplerTest, KernelFramesStandInTheKernel) {
  const Sample sample = sampler_.Place(OnCpu({0xffffffff81000010, 0xffffffff81000020}, {0x1100}));
  ASSERT_THAT(sample.frames, SizeIs(3));
  EXPECT_TRUE(sample.frames[0].kernel);
  EXPECT_EQ(sample.frames[0].module->path, "[kernel]");
  EXPECT_EQ(sample.frames[0].file_offset, 0xffffffff81000010u);
  EXPECT_EQ(sample.frames[1].module, sample.frames[0].module);
  EXPECT_FALSE(sample.frames[2].kernel);
}

std::string ReturnAddresses(const Sample& sample) {
  std::string points;
  for (const AddressFrame& frame : sample.frames) points += frame.return_address ? 'r' : 'x';
  return points;
}

TEST_F(SamplerTest, OnlyWhatWasInterruptedIsExact) {
  EXPECT_EQ(ReturnAddresses(sampler_.Place(OnCpu({}, {0x1100, 0x1200, 0x1300}))), "xrr");
  // An interrupt, or a fault, in user code.
  EXPECT_EQ(ReturnAddresses(sampler_.Place(OnCpu({1, 2}, {0x1100, 0x1200}))), "xrxr");
  wire::StackEvent in_syscall = OnCpu({1, 2}, {0x1100, 0x1200});
  in_syscall.syscall = __NR_read;
  EXPECT_EQ(ReturnAddresses(sampler_.Place(in_syscall)), "xrrr");
  EXPECT_EQ(ReturnAddresses(sampler_.Place(OffCpu(__NR_futex, 1))), "rrr");
  EXPECT_EQ(ReturnAddresses(sampler_.Place(OffCpu(-1, 2))), "rxr");
  // A sample in user mode may carry the number of the last syscall.
  wire::StackEvent user = OnCpu({}, {0x1100, 0x1200});
  user.syscall = __NR_read;
  EXPECT_EQ(ReturnAddresses(sampler_.Place(user)), "xr");
}

TEST_F(SamplerTest, AReturnAddressLiesWhereItsCallLies) {
  // 0x4000 is the first byte of /b, but the call before it is the last of /a.
  const Sample sample = sampler_.Place(OnCpu({}, {0x4000, 0x4000, 0x6000}));
  EXPECT_EQ(sample.frames[0].module->path, "/b");
  EXPECT_EQ(sample.frames[0].file_offset, 0u);
  EXPECT_EQ(sample.frames[1].module->path, "/a");
  EXPECT_EQ(sample.frames[1].file_offset, 0x13000u);
  EXPECT_EQ(sample.frames[2].module->path, "/b");
  EXPECT_EQ(sample.frames[2].file_offset, 0x2000u);
}

TEST_F(SamplerTest, AnonymousMemoryHasNoOffsetButTheAddress) {
  const Sample sample = sampler_.Place(OnCpu({}, {0x8100}));
  ASSERT_NE(sample.frames[0].module, nullptr);
  EXPECT_EQ(sample.frames[0].module->path, "");
  EXPECT_EQ(sample.frames[0].module->first_pid, 7u);
  EXPECT_EQ(sample.frames[0].file_offset, 0x8100u);
}

TEST_F(SamplerTest, AddressesInNoMappingAreKeptAndCounted) {
  const Sample sample =
      sampler_.Place(OnCpu({}, {0x1100, 0, ~0ull, 0xffffffff81000000, 0x7000, 0x1200}));
  ASSERT_THAT(sample.frames, SizeIs(6));
  EXPECT_EQ(sample.frames[2].module, nullptr);
  EXPECT_EQ(sample.frames[2].address, ~0ull);
  EXPECT_EQ(sample.frames[5].module->path, "/a");
  EXPECT_EQ(sampler_.Counters().unplaced_frames, 4u);
}

TEST_F(SamplerTest, FramesSayHowFarTheyCanBeTrusted) {
  wire::StackEvent event = OnCpu({}, {0x1100, 0x1200 | PROFD_FRAME_EXACT, 0x1300, 0x1400});
  event.uncertain_from = 3;
  event.missing_stack_bytes = 4096;
  event.cfas = {{.frame = 2, .cfa = 0x7ffc00}};
  const Sample sample = sampler_.Place(event);
  ASSERT_THAT(sample.frames, SizeIs(4));
  EXPECT_FALSE(sample.frames[1].return_address);
  EXPECT_EQ(sample.frames[1].address, 0x1200u);
  EXPECT_TRUE(sample.frames[2].return_address);
  EXPECT_EQ(sample.frames[2].cfa, 0x7ffc00u);
  EXPECT_EQ(sample.frames[3].cfa, 0u);
  EXPECT_FALSE(sample.frames[2].uncertain);
  EXPECT_TRUE(sample.frames[3].uncertain);
  EXPECT_EQ(sample.missing_stack_bytes, 4096u);
}

TEST_F(SamplerTest, SampleOfAnUnknownProcessKeepsItsAddresses) {
  wire::StackEvent event = OnCpu({1}, {0x1100});
  event.header = HeaderAt(100, 8);
  const Sample sample = sampler_.Place(event);
  ASSERT_THAT(sample.frames, SizeIs(2));
  EXPECT_NE(sample.frames[0].module, nullptr);
  EXPECT_EQ(sample.frames[1].module, nullptr);
  EXPECT_EQ(sample.frames[1].file_offset, 0x1100u);
  EXPECT_EQ(sampler_.Counters().unknown_process, 1u);
  EXPECT_EQ(sampler_.Counters().unplaced_frames, 0u);
}

TEST_F(SamplerTest, ModulesOfAParentThatIsGoneFindANewHome) {
  table_.Apply(ForkAt(20, 7, 8, "daemon"));
  wire::StackEvent event = OnCpu({}, {0x1100, 0x8100});
  event.header = HeaderAt(100, 8);
  EXPECT_EQ(sampler_.Place(event).frames[0].module->first_pid, 7u);
  EXPECT_EQ(sampler_.Place(event).frames[1].module->first_pid, 8u);  // memory is its own
  table_.Apply(ExitAt(30, 7));
  const Sample sample = sampler_.Place(event);
  EXPECT_EQ(sample.frames[0].module->first_pid, 8u);
  EXPECT_EQ(sample.frames[0].module->map_start, 0x1000u);
  EXPECT_EQ(sample.frames[0].module->map_end, 0x4000u);
}

TEST_F(SamplerTest, LateSamplesOfTheDeadArePlaced) {
  table_.Apply(ExitAt(30, 7));
  EXPECT_EQ(sampler_.Place(OnCpu({}, {0x1100})).frames[0].module->path, "/a");
}

}  // namespace
}  // namespace profd::process
