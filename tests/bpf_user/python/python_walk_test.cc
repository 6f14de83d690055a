// The walk along an interpreter's frames, on made-up memory of each kind of chain.

#include <cstdint>
#include <vector>

#include "tests/bpf_user/python/python_world.h"

namespace profd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_P(PythonWalkTest, FramesOfTheInterpreterEndEachCall) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Code(1, 101);
  Code(2, 102);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0x7ffc'0000, 12, 0);
  Frame(0x7ffc'0000, 0, 0x7002'0000, 0, 3);
  Frame(0x7002'0000, 2, 0x7003'0000, 30, 1);
  Frame(0x7003'0000, 2, 0x7ffd'0000, 8, 0);
  Frame(0x7ffd'0000, 0, 0, 0, 3);
  EXPECT_THAT(Walk(process),
              ElementsAre(CodeOf(1), At(101, 12), kAnchor | 0x7ffc'0000, CodeOf(2), At(102, 30),
                          CodeOf(2), At(102, 8), kAnchor | 0x7ffd'0000));
  EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
}

TEST_P(PythonWalkTest, AFrameOnTheCStackIsTheInterpretersBeforeItSaysSo) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Code(1, 101);
  Code(2, 102);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0x7ffc'0100, 0, 0);
  Frame(0x7ffc'0100, 0, 0x7002'0000, 0, 0);
  Frame(0x7002'0000, 2, 0x7ffd'0000, 30, 0);
  Frame(0x7ffd'0000, 0, 0, 0, 3);
  user_set_stack_pointer(0x7ffc'0000);
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(1), At(101, 0), kAnchor | 0x7ffc'0100, CodeOf(2),
                                         At(102, 30), kAnchor | 0x7ffd'0000));
}

TEST_P(PythonWalkTest, EntryFlagsPassFromOneCFrameToTheNext) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FLAGS);
  process.cframe_current = 8;
  process.cframe_previous = 16;
  process.frame_owner = 68;
  Thread(process);
  Code(1, 101);
  Put(kState + 56, std::uint64_t{0x7ffc'0000});
  Put(0x7ffc'0008, std::uint64_t{0x7001'0000});
  Put(0x7ffc'0010, std::uint64_t{0x7ffd'0000});
  Put(0x7ffd'0008, std::uint64_t{0x7003'0000});
  Put(0x7ffd'0010, std::uint64_t{kState + 256});  // the one in the thread state
  Put(kState + 256 + 8, std::uint64_t{0});
  Put(kState + 256 + 16, std::uint64_t{0});
  Frame(0x7001'0000, 1, 0x7002'0000, 4, 0);
  Frame(0x7002'0000, 1, 0x7003'0000, 6, 0);
  Put(0x7002'0000 + 68, std::uint8_t{1});
  Frame(0x7003'0000, 1, 0, 8, 0);
  Put(0x7003'0000 + 68, std::uint8_t{1});
  EXPECT_THAT(Walk(process),
              ElementsAre(CodeOf(1), At(101, 4), CodeOf(1), At(101, 6), kAnchor | 0x7ffc'0000,
                          CodeOf(1), At(101, 8), kAnchor | 0x7ffd'0000));

  // A new call has linked its CFrame, but what that leads to is left from before.
  Put(kState + 56, std::uint64_t{0x7ffb'0000});
  Put(0x7ffb'0008, std::uint64_t{0x7009'0000});
  Put(0x7ffb'0010, std::uint64_t{0x7ffc'0000});
  Frame(0x7009'0000, 1, 0x7003'0000, 99, 0);
  Put(0x7009'0000 + 68, std::uint8_t{1});
  const auto as_before =
      ElementsAre(CodeOf(1), At(101, 4), CodeOf(1), At(101, 6), kAnchor | 0x7ffc'0000, CodeOf(1),
                  At(101, 8), kAnchor | 0x7ffd'0000);
  EXPECT_THAT(Walk(process), as_before) << "an old frame";
  Put(0x7ffb'0008, std::uint64_t{0x1});
  EXPECT_THAT(Walk(process), as_before) << "no address at all";
  Put(0x7ffb'0008, std::uint64_t{0});
  EXPECT_THAT(Walk(process), as_before) << "nothing yet";
}

// 3.12: a call has linked its CFrame and not filled it; what was there before leads ...
TEST_P(PythonWalkTest, AnUnfilledCFrameIsPassedOver) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME);
  process.cframe_current = 0;
  process.cframe_previous = 8;
  Thread(process);
  Code(1, 101);
  Put(kState + 56, std::uint64_t{0x7ffb'0000});
  Put(0x7ffb'0008, std::uint64_t{0x7ffc'0000});
  Put(0x7ffc'0000, std::uint64_t{0x7001'0000});
  Put(0x7ffc'0008, kState + 256);
  Put(kState + 256, std::uint64_t{0});
  Put(kState + 264, std::uint64_t{0});
  Frame(0x7001'0000, 1, 0x7ffc'0100, 4, 0);
  Frame(0x7ffc'0100, 0, 0, 0, 3);
  const auto calling = ElementsAre(CodeOf(1), At(101, 4), kAnchor | 0x7ffc'0100);
  const auto leads_to = [&](std::uint64_t frame) {
    Put(0x7ffb'0000, frame);
    return Walk(process);
  };
  EXPECT_THAT(leads_to(0), calling) << "nowhere";
  EXPECT_THAT(leads_to(0x123), calling) << "to no memory";
  Frame(0x7002'0000, 1, 0, 6, 0);
  EXPECT_THAT(leads_to(0x7002'0000), calling) << "to a frame alone";
  Frame(0x7003'0000, 1, 0x7ffd'0100, 6, 0);
  Frame(0x7ffd'0100, 0, 0x7002'0000, 0, 3);
  EXPECT_THAT(leads_to(0x7003'0000), calling) << "to a call from elsewhere";
  for (const std::uint64_t length : {1, 2, 3, 17}) {
    for (std::uint64_t i = 0; i < length; ++i)
      Frame(0x7100'0000 + 0x100 * i, 1, 0x7100'0000 + 0x100 * ((i + 1) % length), 6, 0);
    EXPECT_THAT(leads_to(0x7100'0000), calling) << "into a circle of " << length;
    EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
  }

  // The CFrame of the calling eval is not there either.
  for (const std::uint64_t outer : {0, 0x456, 0x7ffb'0000}) {
    Put(0x7ffb'0008, outer);
    EXPECT_THAT(leads_to(0x7003'0000), IsEmpty()) << outer;
    EXPECT_NE(event()->python_flags & PROFD_PYTHON_TORN, 0) << outer;
  }

  // No call at all.
  Put(kState + 56, kState + 256);
  EXPECT_THAT(Walk(process), IsEmpty());
  EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_THREAD);
}

TEST_P(PythonWalkTest, FrameObjectsCountTheirInstructions) {
  profd_python_process process = Layout(PROFD_PYTHON_OBJECTS_AND_CFRAMES);
  process.current = 48;
  process.first_frame = 24;
  process.cframe_previous = 8;
  process.frame_bytes = 112;
  process.frame_previous = 24;
  process.frame_code = 32;
  process.frame_instruction = 100;
  process.code_version = 0;
  Thread(process);
  // Without versions: two constant words and the hash of the name.
  Put(CodeOf(1) + 24, std::uint64_t{11});
  Put(CodeOf(1) + 32, std::uint64_t{12});
  Put(CodeOf(1) + 120, std::uint64_t{0x4000});
  Put(0x4018, std::uint64_t{0xfeed});
  const std::uint64_t validator = profd_python_folded(
      profd_python_fold(profd_python_fold(profd_python_fold(0, 11), 12), 0xfeed));
  Put(kState + 24, std::uint64_t{0x7001'0000});
  Put(kState + 48, std::uint64_t{0x7ffc'0000});
  Put(0x7ffc'0008, std::uint64_t{0x7ffd'0000});
  Put(0x7ffd'0008, std::uint64_t{kState + 256});
  Put(kState + 256 + 8, std::uint64_t{0});
  for (const std::uint64_t frame : {0x7001'0000, 0x7002'0000}) {
    Zero(frame, 112);
    Put(frame + 24, std::uint64_t{frame == 0x7001'0000 ? 0x7002'0000u : 0u});
    Put(frame + 32, CodeOf(1));
    Put(frame + 100, std::uint32_t{frame == 0x7001'0000 ? 15u : 3u});
  }
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(1), At(validator, 15), kAnchor | 0x7ffc'0000,
                                         CodeOf(1), At(validator, 3), kAnchor | 0x7ffd'0000));

  // A new call has linked its CFrame, and not its frame yet.
  Put(kState + 48, std::uint64_t{0x7ffb'0000});
  Put(0x7ffb'0008, std::uint64_t{0x7ffc'0000});
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(1), At(validator, 15), kAnchor | 0x7ffc'0000,
                                         CodeOf(1), At(validator, 3), kAnchor | 0x7ffd'0000));
}

TEST_P(PythonWalkTest, AStateOfAnotherThreadIsNone) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Put(kState + 152, kThread + 8);
  EXPECT_THAT(Walk(process), IsEmpty());
  EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS);
  Put(kThread + 0x318, std::uint64_t{0});
  EXPECT_THAT(Walk(process), IsEmpty());
  EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS);
}

TEST_P(PythonWalkTest, AStateThatCannotBeReadIsFlagged) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Put(kThread + static_cast<std::uint64_t>(process.slot), kState);
  EXPECT_THAT(Walk(process), IsEmpty());
  EXPECT_EQ(event()->python_flags, PROFD_PYTHON_PROCESS | PROFD_PYTHON_FAULT);
}

TEST_P(PythonWalkTest, AForkedChildHasItsParentsInterpreter) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Code(1, 101);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0, 12, 0);
  EXPECT_THAT(Walk(process, 77), ElementsAre(CodeOf(1), At(101, 12)));
}

constexpr unsigned kGilFlags =
    PROFD_PYTHON_GIL_HELD | PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_FUTEX;

TEST_P(PythonWalkTest, HoldingTheGilIsBeingItsHolderWhileItIsLocked) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  process.gil = 0x9000;
  process.gil_holder = 8;
  process.gil_locked = 16;
  Thread(process);
  Put(kState + 56, std::uint64_t{0});
  const auto flags = [&](std::uint32_t locked, std::uint64_t holder) {
    Put(0x9008, holder);
    Put(0x9010, locked);
    (void)Walk(process);
    return event()->python_flags & kGilFlags;
  };
  EXPECT_EQ(flags(1, kState), PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_HELD);
  EXPECT_EQ(flags(0, kState), PROFD_PYTHON_GIL_KNOWN) << "it held it last";
  EXPECT_EQ(flags(1, kState + 8), PROFD_PYTHON_GIL_KNOWN);
  EXPECT_EQ(flags(0xffffffff, kState), 0u) << "it is being made";
  process.gil = 0;
  EXPECT_EQ(flags(1, kState), 0u) << "its place is unknown";
}

TEST_P(PythonWalkTest, TheStateThatRunsGoesBeforeTheOneInTheSlot) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  process.gil = 0x9000;
  process.gil_holder = 8;
  process.gil_locked = 16;
  Thread(process);
  Code(1, 101);
  Code(2, 102);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0, 4, 0);
  constexpr std::uint64_t kOther = kState + 0x1000;
  Put(kOther + 152, kThread);
  Put(kOther + 56, std::uint64_t{0x7002'0000});
  Frame(0x7002'0000, 2, 0, 8, 0);
  Put(0x9008, kState);
  Put(0x9010, 1u);
  Put(0x9000 + 216, kOther);
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(2), At(102, 8)));
  EXPECT_TRUE((event()->python_flags & PROFD_PYTHON_GIL_HELD) != 0);

  Put(kOther + 152, kThread + 0x1000);
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(1), At(101, 4))) << "another thread runs";
  Put(0x9000 + 216, std::uint64_t{0});
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(1), At(101, 4))) << "no thread runs";
}

TEST_P(PythonWalkTest, TheGilIsThatOfTheThreadsInterpreter) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  process.gil = 0x9000;
  process.interpreter_gil = 0x180;
  process.thread_interpreter = 16;
  process.gil_holder = 8;
  process.gil_locked = 16;
  Thread(process);
  Put(kState + 56, std::uint64_t{0});
  Put(kState + 16, std::uint64_t{0xa000});
  Put(0xa180, std::uint64_t{0xb000});
  Put(0x9008, kState);
  Put(0x9010, std::uint32_t{1});
  Put(0xb008, kState + 8);
  Put(0xb010, std::uint32_t{1});
  (void)Walk(process);
  EXPECT_EQ(event()->python_flags & kGilFlags, PROFD_PYTHON_GIL_KNOWN);
  Put(0xb008, kState);
  (void)Walk(process);
  EXPECT_EQ(event()->python_flags & kGilFlags, PROFD_PYTHON_GIL_KNOWN | PROFD_PYTHON_GIL_HELD);
  Put(0xa180, std::uint64_t{0});
  (void)Walk(process);
  EXPECT_EQ(event()->python_flags & kGilFlags, 0u);
}

TEST_P(PythonWalkTest, AFutexOfTheGilIsDistinguishedFromOthers) {
  profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  process.gil = 0x9000;
  process.gil_holder = 8;
  process.gil_locked = 16;
  Thread(process);
  Put(kState + 56, std::uint64_t{0});
  Put(0x9008, kState + 8);
  Put(0x9010, std::uint32_t{1});
  const auto waits = [&](std::uint64_t futex) {
    (void)Walk(process, 0, futex);
    return (event()->python_flags & PROFD_PYTHON_GIL_FUTEX) != 0;
  };
  EXPECT_TRUE(waits(0x9020));
  EXPECT_TRUE(waits(0x90cc));
  EXPECT_FALSE(waits(0x9010));
  EXPECT_FALSE(waits(0x90d0));
  EXPECT_FALSE(waits(0));
}

TEST_P(PythonWalkTest, ADeepStackKeepsItsLeafSide) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Code(1, 101);
  Put(kState + 56, std::uint64_t{0x7000'0000});
  for (std::uint32_t i = 0; i < 600; ++i)
    Frame(0x7000'0000 + i * 0x100, 1, 0x7000'0000 + (i + 1) * 0x100, i, 0);
  const auto words = Walk(process);
  ASSERT_EQ(words.size(), 2u * PROFD_MAX_PYTHON_FRAMES);
  EXPECT_EQ(words[1], At(101, 0));
  EXPECT_EQ(words.back(), At(101, PROFD_MAX_PYTHON_FRAMES - 1));
  EXPECT_NE(event()->python_flags & PROFD_PYTHON_TRUNCATED, 0);
}

TEST_P(PythonWalkTest, FramesInACircleEnd) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Put(kState + 56, std::uint64_t{0x7ffc'0000});
  Frame(0x7ffc'0000, 0, 0x7ffc'0000, 0, 3);  // anchors only
  const auto words = Walk(process);
  EXPECT_LE(words.size(), static_cast<std::size_t>(PROFD_MAX_PYTHON_WORDS));
  EXPECT_EQ(words_[words_.size() - 1], 0xaaaa'aaaa'aaaa'aaaa);
}

TEST_P(PythonWalkTest, CodeThatCannotBeReadHasNoValidator) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 5, 0x7002'0000, 12, 0);
  EXPECT_THAT(Walk(process), ElementsAre(CodeOf(5), At(0, 12)));
  EXPECT_NE(event()->python_flags & PROFD_PYTHON_FAULT, 0);
}

TEST_P(PythonWalkTest, RecursionReadsItsCodeOnceAWalk) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  for (std::uint64_t i = 0; i < 6; ++i)
    Frame(0x7001'0000 + 0x100 * i, i % 2 == 0 ? 1 : 2, i < 5 ? 0x7001'0100 + 0x100 * i : 0, 12, 0);
  for (std::uint32_t version : {101u, 201u}) {
    Code(1, version);
    Code(2, version + 1);
    reads_.clear();
    EXPECT_THAT(Walk(process),
                ElementsAre(CodeOf(1), At(version, 12), CodeOf(2), At(version + 1, 12), CodeOf(1),
                            At(version, 12), CodeOf(2), At(version + 1, 12), CodeOf(1),
                            At(version, 12), CodeOf(2), At(version + 1, 12)));
    EXPECT_EQ(reads_[CodeOf(1) + 92], 1);
    EXPECT_EQ(reads_[CodeOf(2) + 92], 1);
  }
}

TEST_P(PythonWalkTest, AFrameWithoutCodeHasNoValidator) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0x7001'0100, 12, 0);
  Frame(0x7001'0100, 1, 0, 12, 0);
  Put(std::uint64_t{0x7001'0100}, std::uint64_t{0});
  Code(1, 101);
  const auto words = Walk(process);
  ASSERT_EQ(words.size(), 4u);
  EXPECT_EQ(words[2], 0u);
  EXPECT_EQ(words[3] >> 32, 0u);
}

TEST_P(PythonWalkTest, NewCodeWakesOnce) {
  const profd_python_process process = Layout(PROFD_PYTHON_ENTRY_FRAMES);
  Thread(process);
  Code(1, 101);
  Code(2, 102);
  Put(kState + 56, std::uint64_t{0x7001'0000});
  Frame(0x7001'0000, 1, 0x7ffc'0000, 12, 0);
  Frame(0x7ffc'0000, 0, 0, 0, 3);
  Walk(process);
  EXPECT_TRUE(woken_);
  Frame(0x7001'0000, 1, 0x7ffc'0000, 14, 0);
  Walk(process);
  EXPECT_FALSE(woken_);
  Frame(0x7001'0000, 2, 0x7ffc'0000, 12, 0);
  Walk(process);
  EXPECT_TRUE(woken_);
  Code(2, 103);  // another one at the same place
  Walk(process);
  EXPECT_TRUE(woken_);
  Put(kState + 56, std::uint64_t{0});
  Walk(process);
  EXPECT_FALSE(woken_);
}

INSTANTIATE_TEST_SUITE_P(Readers, PythonWalkTest, testing::Bool(),
                         [](const auto& reader) { return reader.param ? "Task" : "Current"; });

}  // namespace
}  // namespace profd
