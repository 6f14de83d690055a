// Python frames of several runtimes on one native stack.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bpf/shared/python_layout.h"
#include "daemon/python/merge/merge.h"
#include "tests/unit/python/merge_frames.h"

namespace profd::python {
namespace {

using process::AddressFrame;
using ::testing::ElementsAre;

constexpr std::uint64_t kFirst = 0x5000;   // the eval functions: 0x100 bytes
constexpr std::uint64_t kSecond = 0xb000;  // each in the middle of its module
constexpr std::uint64_t kLibrary = 0x9000;

wire::PythonProcessEvent Interpreter(std::uint64_t eval, profd_python_chain chain) {
  wire::PythonProcessEvent process;
  process.chain = chain;
  process.module = {eval - 0x1000, eval + 0x1000};
  process.eval = {eval, eval + 0x100};
  return process;
}

using Runtimes = std::array<wire::PythonProcessEvent, 2>;

Runtimes WithAnchors() {
  return {Interpreter(kFirst, PROFD_PYTHON_ENTRY_FRAMES),
          Interpreter(kSecond, PROFD_PYTHON_ENTRY_FLAGS)};
}

// The first one's Python -> C -> the second one's -> C -> the first one's again; leaf first.
std::vector<AddressFrame> NestedStack() {
  return {Native(kLibrary), Native(kFirst + 8, 0x7100),  Native(kFirst + 0x800, 0x7200),
          Native(kLibrary), Native(kSecond + 8, 0x7400), Native(kSecond + 0x800, 0x7500),
          Native(kLibrary), Native(kFirst + 8, 0x7700),  Native(kLibrary)};
}

// "E" an eval function, "i" other code of an interpreter, "n" the rest.
std::vector<std::string> Order(const std::vector<AddressFrame>& frames) {
  std::vector<std::string> names;
  for (const AddressFrame& frame : frames) {
    const bool eval = WithAnchors()[0].eval.Contains(frame.address - 1) ||
                      WithAnchors()[1].eval.Contains(frame.address - 1);
    names.push_back(frame.python         ? frame.python->name
                    : !frame.interpreter ? "n"
                    : eval               ? "E"
                                         : "i");
  }
  return names;
}

TEST(MergeRuntimes, EachFrameStandsInItsRuntimesCall) {
  auto frames = NestedStack();
  const std::array stacks{
      PythonStack{.segments = {{{Python("a2")}, 0x7080}, {{Python("a1"), Python("a0")}, 0x7680}}},
      PythonStack{.segments = {{{Python("b1"), Python("b0")}, 0x7380}}}};
  ASSERT_TRUE(MergeAll(stacks, WithAnchors(), true, frames));
  EXPECT_THAT(Order(frames), ElementsAre("n", "a2", "E", "i", "n", "b1", "b0", "E", "i", "n", "a1",
                                         "a0", "E", "n"));
}

TEST(MergeRuntimes, AThreadOfOneHasNothingOfTheOther) {
  const std::vector<AddressFrame> of_second{Native(kLibrary), Native(kSecond + 8, 0x7400),
                                            Native(kLibrary)};
  auto frames = of_second;
  const std::array stacks{PythonStack{}, PythonStack{.segments = {{{Python("b")}, 0x7380}}}};
  ASSERT_TRUE(MergeAll(stacks, WithAnchors(), true, frames));
  EXPECT_THAT(Order(frames), ElementsAre("n", "b", "E", "n"));
}

TEST(MergeRuntimes, ACallThatRunsSomethingHasFrames) {
  auto frames = NestedStack();
  const std::array no_second{
      PythonStack{.segments = {{{Python("a2")}, 0x7080}, {{Python("a1")}, 0x7680}}}, PythonStack{}};
  EXPECT_FALSE(MergeAll(no_second, WithAnchors(), true, frames));
  const std::array no_first{PythonStack{}, PythonStack{.segments = {{{Python("b")}, 0x7380}}}};
  EXPECT_FALSE(MergeAll(no_first, WithAnchors(), true, frames));
  EXPECT_EQ(frames.size(), NestedStack().size());
}

TEST(MergeRuntimes, AnAnchorInAnothersFrameIsWrong) {
  auto frames = NestedStack();
  const std::array stacks{
      PythonStack{.segments = {{{Python("a2")}, 0x7080}, {{Python("a1")}, 0x7480}}},
      PythonStack{.segments = {{{Python("b")}, 0x7380}}}};
  EXPECT_FALSE(MergeAll(stacks, WithAnchors(), true, frames));
}

TEST(MergeRuntimes, WithoutAnchorsEachCountsItsOwnCalls) {
  const Runtimes runtimes{Interpreter(kFirst, PROFD_PYTHON_OBJECTS),
                          Interpreter(kSecond, PROFD_PYTHON_ENTRY_FLAGS)};
  auto frames = NestedStack();
  const std::array stacks{PythonStack{.segments = {{{Python("a1")}, 0}, {{Python("a0")}, 0}}},
                          PythonStack{.segments = {{{Python("b")}, 0x7380}}}};
  ASSERT_TRUE(MergeAll(stacks, runtimes, true, frames));
  EXPECT_THAT(Order(frames),
              ElementsAre("n", "a1", "E", "i", "n", "b", "E", "i", "n", "a0", "E", "n"));
}

TEST(MergeRuntimes, BeyondTheEndOfACutStackOnlyOneMayStand) {
  auto frames = NestedStack();
  frames.resize(3);
  const PythonStack first{
      .segments = {{{Python("a2")}, 0x7080}, {{Python("a1"), Python("a0")}, 0x7680}}};
  const std::array both{first, PythonStack{.segments = {{{Python("b")}, 0x7380}}}};
  EXPECT_FALSE(MergeAll(both, WithAnchors(), false, frames)) << "which stands first?";
  EXPECT_EQ(frames.size(), 3u);

  frames = NestedStack();
  frames.resize(6);
  ASSERT_TRUE(MergeAll(both, WithAnchors(), false, frames));
  EXPECT_THAT(Order(frames), ElementsAre("n", "a2", "E", "i", "n", "b", "E", "i", "a1", "a0"));
}

}  // namespace
}  // namespace profd::python
