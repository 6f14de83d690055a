// Samples of processes with several runtimes: whose frames, whose GIL, whose names.
#include "daemon/python/merge/stack_merger.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <vector>

namespace profd::python {
namespace {

using process::AddressFrame;
using process::Gil;
using process::WaitReason;

constexpr ProcessKey kProcess{100, 7};
constexpr unsigned kThread = PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD;
constexpr unsigned kMore = 1u << PROFD_PYTHON_MORE_SHIFT;

class StackMergerTest : public testing::Test {
 protected:
  void Report(std::uint32_t runtime, std::uint32_t version) {
    wire::PythonProcessEvent event;
    event.header.process = kProcess;
    event.runtime = runtime;
    event.version = version;
    event.chain = PROFD_PYTHON_ENTRY_FRAMES;
    const std::uint64_t base = 0x10000 * (std::uint64_t{runtime} + 1);
    event.module = {base, base + 0x1000};
    event.eval = {base, base + 0x100};
    event.gil = {base + 0x2000, base + 0x2100};
    merger_.Apply(event);
    wire::PythonCodeEvent code;
    code.header.process = kProcess;
    code.runtime = runtime;
    code.code = 64;
    code.validator = 1;
    code.name = runtime == 0 ? "first" : "second";
    merger_.Apply(code);
  }
  // A thread of the second runtime that waits for a futex.
  process::Sample Merge(unsigned flags, std::uint32_t runtime, std::uint64_t futex = 0) {
    wire::StackEvent event;
    event.header.process = kProcess;
    event.stack_flags = PROFD_STACK_COMPLETE;
    event.python_flags = static_cast<std::uint16_t>(flags);
    event.syscall = SYS_futex;
    event.syscall_args[0] = futex;
    if ((flags & PROFD_PYTHON_THREAD) != 0)
      event.python = {{.address = 64, .validator = 1, .runtime = runtime},
                      {.address = 0x7080, .anchor = true, .runtime = runtime}};
    process::Sample sample;
    sample.wait = WaitReason::kLock;
    sample.state = process::State::kBlocked;
    for (const std::uint64_t address : {0x90000, 0x20008}) {
      AddressFrame& frame = sample.frames.emplace_back();
      frame.address = address;
      frame.return_address = true;
      if (address == 0x20008) frame.cfa = 0x7100;
    }
    merger_.Merge(event, sample);
    return sample;
  }

  MergeCounters counters_;
  StackMerger merger_{counters_};
};

TEST_F(StackMergerTest, FramesAndGilOfTheSecond) {
  Report(0, 0x030c01f0);
  Report(1, 0x030b07f0);
  const auto sample = Merge(kThread | kMore | PROFD_PYTHON_GIL_KNOWN, 1, 0x22010);
  ASSERT_EQ(sample.frames.size(), 3u);
  ASSERT_NE(sample.frames[1].python, nullptr);
  EXPECT_EQ(sample.frames[1].python->name, "second");
  EXPECT_TRUE(sample.frames[2].interpreter);
  EXPECT_FALSE(sample.merge_failed);
  EXPECT_EQ(sample.wait, WaitReason::kGil);
  EXPECT_EQ(sample.gil, Gil::kWaited);
  EXPECT_EQ(sample.interpreter->version, "3.12.1 + 3.11.7");
  EXPECT_EQ(Merge(kThread | kMore, 1, 0x32010).wait, WaitReason::kLock);
}

TEST_F(StackMergerTest, BeforeTheKernelSideKnewOfItThereAreNone) {
  Report(0, 0x030c01f0);
  Report(1, 0x030b07f0);
  const auto early = Merge(PROFD_PYTHON_PROCESS, 1);
  EXPECT_FALSE(early.merge_failed);
  EXPECT_EQ(early.frames.size(), 2u);
  EXPECT_TRUE(Merge(PROFD_PYTHON_PROCESS | kMore, 1).merge_failed) << "its call runs something";
}

TEST_F(StackMergerTest, FramesOfAnUnreportedInterpreterArePutNowhere) {
  Report(0, 0x030c01f0);
  const auto sample = Merge(kThread | kMore, 1);
  EXPECT_TRUE(sample.merge_failed);
  EXPECT_EQ(sample.frames.size(), 2u);
  ASSERT_EQ(sample.unmerged_python.size(), 1u);
  EXPECT_EQ(sample.unmerged_python[0].python->name, "<unknown>");
}

}  // namespace
}  // namespace profd::python
