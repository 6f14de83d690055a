// Python frames among native ones: each where it belongs, or not at all.
#include "daemon/python/merge/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "bpf/shared/python_layout.h"
#include "tests/unit/python/merge_frames.h"

namespace profd::python {
namespace {

using process::AddressFrame;
using ::testing::ElementsAre;

constexpr std::uint64_t kEval = 0x5000;     // the eval function: [kEval, kEval + 0x100)
constexpr std::uint64_t kLibrary = 0x9000;  // another module's code
constexpr std::uint64_t kInside = 0x5800;   // the interpreter's, not eval

wire::PythonProcessEvent Interpreter() {
  wire::PythonProcessEvent process;
  process.module = {0x4000, 0x6000};
  process.eval = {kEval, kEval + 0x100};
  return process;
}

wire::PythonProcessEvent WithoutAnchors() {
  wire::PythonProcessEvent process = Interpreter();
  process.chain = PROFD_PYTHON_OBJECTS;
  return process;
}

// "E" eval, "i" of the interpreter, "n" of others, else the Python function.
std::vector<std::string> Order(const std::vector<AddressFrame>& frames) {
  std::vector<std::string> names;
  for (const AddressFrame& frame : frames) {
    if (frame.python) {
      names.push_back(frame.python->name);
    } else if (!frame.interpreter) {
      names.emplace_back("n");
    } else {
      names.emplace_back(Interpreter().eval.Contains(frame.address - 1) ? "E" : "i");
    }
  }
  return names;
}

std::vector<AddressFrame> CallbackStack() {
  // qsort of a library calls back into Python: leaf first.
  return {Native(kEval + 8, 0x7100), Native(kInside, 0x7200), Native(kLibrary),
          Native(kLibrary),          Native(kInside, 0x7600), Native(kEval + 8, 0x7700),
          Native(kInside, 0x7800),   Native(kLibrary)};
}

TEST(Merge, EachSegmentStandsInTheCallThatHoldsItsAnchor) {
  auto frames = CallbackStack();
  const PythonStack python{
      .segments = {{{Python("compare")}, 0x7080}, {{Python("inner"), Python("outer")}, 0x7680}}};
  ASSERT_TRUE(Merge(python, Interpreter(), true, frames));
  EXPECT_THAT(Order(frames),
              ElementsAre("compare", "E", "i", "n", "n", "i", "inner", "outer", "E", "i", "n"));
}

TEST(Merge, ACallThatHasNotBegunItsFrameShiftsNothing) {
  auto frames = CallbackStack();
  const PythonStack python{.segments = {{{Python("inner"), Python("outer")}, 0x7680}}};
  ASSERT_TRUE(Merge(python, Interpreter(), true, frames));
  EXPECT_THAT(Order(frames), ElementsAre("E", "i", "n", "n", "i", "inner", "outer", "E", "i", "n"));
}

TEST(Merge, ACallThatRunsSomethingHasFrames) {
  auto frames = CallbackStack();
  frames.insert(frames.begin(), Native(kLibrary));
  const PythonStack python{.segments = {{{Python("inner"), Python("outer")}, 0x7680}}};
  EXPECT_FALSE(Merge(python, Interpreter(), true, frames)) << "those of another interpreter";
  auto ending = frames;
  ending[0] = Native(kInside, 0x7090);
  EXPECT_TRUE(Merge(python, Interpreter(), true, ending)) << "its result is looked at";
  frames[0].kernel = true;
  EXPECT_TRUE(Merge(python, Interpreter(), true, frames)) << "it has just begun";
  frames = {Native(kLibrary), Native(kInside, 0x7090), Native(kEval + 8)};
  EXPECT_TRUE(Merge(python, Interpreter(), false, frames)) << "what the end holds is unknown";
}

TEST(Merge, WhatLiesBeyondTheEndOfACutStackStandsThere) {
  auto frames = CallbackStack();
  frames.resize(3);
  const PythonStack python{
      .segments = {{{Python("compare")}, 0x7080}, {{Python("inner"), Python("outer")}, 0x7680}}};
  ASSERT_TRUE(Merge(python, Interpreter(), false, frames));
  EXPECT_THAT(Order(frames), ElementsAre("compare", "E", "i", "n", "inner", "outer"));
}

TEST(Merge, WhatLiesBeyondAWholeStackFails) {
  auto frames = CallbackStack();
  frames.resize(3);
  const PythonStack python{
      .segments = {{{Python("compare")}, 0x7080}, {{Python("inner"), Python("outer")}, 0x7680}}};
  EXPECT_FALSE(Merge(python, Interpreter(), true, frames));
  EXPECT_EQ(frames.size(), 3u);
  EXPECT_FALSE(frames[0].interpreter);
}

TEST(Merge, AnAnchorOutsideTheStackWithNothingToShowIsPassedOver) {
  auto frames = CallbackStack();
  const PythonStack python{
      .segments = {{{Python("compare")}, 0x7080}, {{Python("outer")}, 0x7680}, {{}, 0xffff0000}}};
  ASSERT_TRUE(Merge(python, Interpreter(), true, frames));
  EXPECT_EQ(frames.size(), 10u);
}

TEST(Merge, TheRestOfADeepStackStandsInTheNextCall) {
  auto frames = CallbackStack();
  const PythonStack python{.segments = {{{Python("compare")}, 0x7080}, {{Python("deep")}, 0}},
                           .truncated = true};
  ASSERT_TRUE(Merge(python, Interpreter(), true, frames));
  EXPECT_THAT(Order(frames),
              ElementsAre("compare", "E", "i", "n", "n", "i", "deep", "E", "i", "n"));
}

TEST(Merge, WithoutAnchorsCallsAreCountedFromTheRoot) {
  auto frames = CallbackStack();
  const PythonStack both{.segments = {{{Python("compare")}, 0}, {{Python("outer")}, 0}}};
  ASSERT_TRUE(Merge(both, WithoutAnchors(), true, frames));
  EXPECT_THAT(Order(frames),
              ElementsAre("compare", "E", "i", "n", "n", "i", "outer", "E", "i", "n"));

  frames = CallbackStack();
  const PythonStack one{.segments = {{{Python("outer")}, 0}}};
  ASSERT_TRUE(Merge(one, WithoutAnchors(), true, frames)) << "a call has begun at the leaf";
  EXPECT_THAT(Order(frames), ElementsAre("E", "i", "n", "n", "i", "outer", "E", "i", "n"));
}

TEST(Merge, WithoutAnchorsNothingIsGuessed) {
  auto frames = CallbackStack();
  const PythonStack three{.segments = {{{Python("a")}, 0}, {{Python("b")}, 0}, {{Python("c")}, 0}}};
  EXPECT_FALSE(Merge(three, WithoutAnchors(), true, frames)) << "more frames than calls";
  const PythonStack one{.segments = {{{Python("outer")}, 0}}};
  EXPECT_FALSE(Merge(one, WithoutAnchors(), false, frames))
      << "the root is not known, and the innermost call may not have its frame yet";
  EXPECT_EQ(frames.size(), 8u);
}

TEST(Merge, WithoutAnchorsACallThatRunsSomethingHasItsFrame) {
  auto frames = CallbackStack();
  frames.insert(frames.begin(), Native(kLibrary));
  const PythonStack one{.segments = {{{Python("outer")}, 0}}};
  EXPECT_FALSE(Merge(one, WithoutAnchors(), true, frames));
}

// Two functions of its own examine it: the second checks for an error.
TEST(Merge, WithoutAnchorsACallThatLooksAtItsResultHasLeftItsFrame) {
  const PythonStack one{.segments = {{{Python("outer")}, 0}}};
  auto frames = CallbackStack();
  frames.insert(frames.begin(), 2, Native(kInside));
  ASSERT_TRUE(Merge(one, WithoutAnchors(), true, frames));
  EXPECT_THAT(Order(frames),
              ElementsAre("i", "i", "E", "i", "n", "n", "i", "outer", "E", "i", "n"));

  frames = CallbackStack();
  frames.insert(frames.begin(), 3, Native(kInside));
  EXPECT_FALSE(Merge(one, WithoutAnchors(), true, frames)) << "it runs something";
}

TEST(Merge, WithoutAnchorsACutStackOfTheInterpreterAloneIsMerged) {
  auto frames = CallbackStack();
  frames.resize(2);
  const PythonStack both{.segments = {{{Python("compare")}, 0}, {{Python("outer")}, 0}}};
  ASSERT_TRUE(Merge(both, WithoutAnchors(), false, frames));
  EXPECT_THAT(Order(frames), ElementsAre("compare", "E", "i", "outer"));

  frames = CallbackStack();
  frames.resize(3);
  EXPECT_FALSE(Merge(both, WithoutAnchors(), false, frames)) << "on which side of the library?";
}

TEST(Merge, WithoutAnchorsACallOfACutStackThatLooksAtItsResultMayHaveLeftItsFrame) {
  const PythonStack both{.segments = {{{Python("compare")}, 0}, {{Python("outer")}, 0}}};
  auto frames = CallbackStack();
  frames.insert(frames.begin(), Native(kInside));
  frames.resize(4);
  EXPECT_FALSE(Merge(both, WithoutAnchors(), false, frames));
  frames.insert(frames.begin(), Native(kInside));
  EXPECT_TRUE(Merge(both, WithoutAnchors(), false, frames)) << "it examines no more than that";
}

TEST(Merge, WithoutAnchorsCallsOfACutStackAreCountedFromTheLeaf) {
  const PythonStack both{.segments = {{{Python("compare")}, 0}, {{Python("outer")}, 0}}};
  auto frames = CallbackStack();
  frames.insert(frames.begin(), Native(kLibrary));
  frames.resize(4);
  ASSERT_TRUE(Merge(both, WithoutAnchors(), false, frames));
  EXPECT_THAT(Order(frames), ElementsAre("n", "compare", "E", "i", "n", "outer"));

  frames = {Native(kLibrary), Native(kLibrary)};
  ASSERT_TRUE(Merge(both, WithoutAnchors(), false, frames)) << "no call is to be seen";
  EXPECT_THAT(Order(frames), ElementsAre("n", "n", "compare", "outer"));

  const PythonStack deep{.segments = {{{Python("compare")}, 0}}, .truncated = true};
  frames = CallbackStack();
  frames.insert(frames.begin(), Native(kLibrary));
  ASSERT_TRUE(Merge(deep, WithoutAnchors(), true, frames));
  EXPECT_THAT(Order(frames), ElementsAre("n", "compare", "E", "i", "n", "n", "i", "E", "i", "n"));
}

TEST(Merge, AWalkThatEndsBeforeAnyAnchorFails) {
  auto frames = CallbackStack();
  const PythonStack python{.segments = {{{Python("somewhere")}, 0}}};
  EXPECT_FALSE(Merge(python, Interpreter(), true, frames));
}

TEST(Merge, AStackWithoutPythonFramesHasNoCallThatRuns) {
  auto frames = CallbackStack();
  EXPECT_FALSE(HasNone(Interpreter(), frames));
  frames.resize(4);
  EXPECT_TRUE(HasNone(Interpreter(), frames)) << "one is beginning";
  EXPECT_TRUE(HasNone(Interpreter(), {Native(kLibrary), Native(kInside)}));
}

TEST(Merge, NoPythonFramesLeaveAllAsItIs) {
  auto frames = CallbackStack();
  ASSERT_TRUE(Merge({}, Interpreter(), true, frames));
  EXPECT_THAT(Order(frames), ElementsAre("n", "n", "n", "n", "n", "n", "n", "n"));
}

}  // namespace
}  // namespace profd::python
