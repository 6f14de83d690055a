// What a sample says of the GIL, by what the BPF side and the stream have reported.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "daemon/python/merge/stack_merger.h"

namespace profd::python {
namespace {

using process::Gil;
using process::WaitReason;

constexpr ProcessKey kProcess{100, 7};
constexpr unsigned kThread = PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD;

class SampleGilTest : public testing::Test {
 protected:
  void Report(const std::string& reason = "", std::uint32_t runtime = 0) {
    wire::PythonProcessEvent event;
    event.header.process = kProcess;
    event.runtime = runtime;
    event.version = 0x030c01f0;
    event.chain = reason.empty() ? PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME : 0;
    event.gil = {0x1020, 0x10d0};
    event.reason = reason;
    merger_.Apply(event);
  }
  process::Sample Merge(unsigned flags, WaitReason wait = WaitReason::kNone,
                        std::uint64_t futex = 0) {
    wire::StackEvent event;
    event.header.process = kProcess;
    event.python_flags = static_cast<std::uint16_t>(flags);
    if (futex != 0) event.syscall = SYS_futex;
    event.syscall_args[0] = futex;
    process::Sample sample;
    sample.wait = wait;
    if (wait != WaitReason::kNone) sample.state = process::State::kBlocked;
    merger_.Merge(event, sample);
    return sample;
  }

  MergeCounters counters_;
  StackMerger merger_{counters_};
};

TEST_F(SampleGilTest, AProcessThatWasNotReportedHasNone) {
  EXPECT_EQ(Merge(0).gil, Gil::kNone);
  EXPECT_EQ(Merge(0).interpreter, nullptr);
}

TEST_F(SampleGilTest, HeldNotHeldAndUnknownAreThree) {
  Report();
  EXPECT_EQ(Merge(kThread | PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_HELD).gil, Gil::kHeld);
  EXPECT_EQ(Merge(kThread | PROFD_PYTHON_GIL_KNOWN).gil, Gil::kNotHeld);
  EXPECT_EQ(Merge(kThread).gil, Gil::kUnknown);
  EXPECT_EQ(Merge(PROFD_PYTHON_PROCESS).gil, Gil::kNone) << "a thread of C";
  EXPECT_EQ(Merge(PROFD_PYTHON_PROCESS | PROFD_PYTHON_FAULT).gil, Gil::kUnknown);
  EXPECT_EQ(Merge(0).gil, Gil::kUnknown) << "the BPF side did not know of it yet";
}

TEST_F(SampleGilTest, OfARuntimeThatWasNotLookedAtItIsUnknown) {
  Report();
  Report("", 1);
  constexpr unsigned kBoth = PROFD_PYTHON_PROCESS | 1 << PROFD_PYTHON_MORE_SHIFT;
  EXPECT_EQ(Merge(PROFD_PYTHON_PROCESS).gil, Gil::kUnknown) << "it may have a state in the other";
  EXPECT_EQ(Merge(kBoth).gil, Gil::kNone);
  EXPECT_EQ(Merge(kThread | PROFD_PYTHON_GIL_KNOWN).gil, Gil::kNotHeld);
}

TEST_F(SampleGilTest, FramesThatCouldNotBeReadAreSaidToBeMissing) {
  Report();
  EXPECT_TRUE(Merge(kThread | PROFD_PYTHON_FAULT).merge_failed);
  EXPECT_FALSE(Merge(kThread).merge_failed) << "it runs no Python";
  EXPECT_FALSE(Merge(PROFD_PYTHON_PROCESS | PROFD_PYTHON_FAULT).merge_failed) << "it has no state";
}

TEST_F(SampleGilTest, AWaitForItIsOneByTheFutex) {
  Report();
  const auto main = Merge(kThread | PROFD_PYTHON_GIL_KNOWN, WaitReason::kLock, 0x1048);
  EXPECT_EQ(main.wait, WaitReason::kGil);
  EXPECT_EQ(main.gil, Gil::kWaited);
  // An interpreter with a GIL of its own.
  const auto own =
      Merge(kThread | PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_FUTEX, WaitReason::kLock, 0x9048);
  EXPECT_EQ(own.wait, WaitReason::kGil);
  EXPECT_EQ(own.gil, Gil::kWaited);
  const auto other = Merge(kThread | PROFD_PYTHON_GIL_KNOWN, WaitReason::kLock, 0x9048);
  EXPECT_EQ(other.wait, WaitReason::kLock);
  EXPECT_EQ(other.gil, Gil::kNotHeld);
  const auto stateless = Merge(PROFD_PYTHON_PROCESS, WaitReason::kLock, 0x1048);
  EXPECT_EQ(stateless.gil, Gil::kWaited) << "a thread that begins";
}

TEST_F(SampleGilTest, WhoBlocksWithItHoldsIt) {
  Report();
  const unsigned held = kThread | PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_HELD;
  EXPECT_EQ(Merge(held, WaitReason::kIo).gil, Gil::kHeld);
  EXPECT_EQ(Merge(held, WaitReason::kLock, 0x1048).gil, Gil::kHeld) << "about to give it back";
}

TEST_F(SampleGilTest, OfARefusedInterpreterItIsUnknown) {
  Report("free-threaded");
  const auto sample = Merge(0);
  EXPECT_EQ(sample.gil, Gil::kUnknown);
  ASSERT_NE(sample.interpreter, nullptr);
  EXPECT_EQ(sample.interpreter->version, "3.12.1");
  EXPECT_EQ(sample.interpreter->refused, "free-threaded");
  EXPECT_EQ(Merge(0).interpreter, sample.interpreter) << "shared";
}

}  // namespace
}  // namespace profd::python
