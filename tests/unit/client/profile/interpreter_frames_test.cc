#include "client/profile/interpreter_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/profile/stack_tree.h"
#include "tests/support/profile_maker.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using testing::FrameFromText;
using testing::ProfileMaker;

v1::Frame Interpreter(const std::string& name) {
  v1::Frame frame = FrameFromText(name);
  frame.set_interpreter(true);
  return frame;
}

std::vector<std::string> Names(const v1::Profile& profile) {
  const auto tree = StackTree::Build(profile, {}, StateFrames::kNone, StackRoots::kProcesses);
  EXPECT_TRUE(tree);
  std::vector<std::string> names;
  for (const std::uint32_t i : tree->ByName()) names.push_back(tree->labels[tree->nodes[i].label]);
  return names;
}

TEST(InterpreterFrames, WhatStoodOnThemStandsOnWhatWasBelow) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.AddFrames(thread,
                  {FrameFromText("start"), Interpreter("main"), Interpreter("eval"),
                   FrameFromText("f"), Interpreter("call"), FrameFromText("read")},
                  {.weight_ns = 5});
  maker.AddFrames(thread, {FrameFromText("start"), Interpreter("main")}, {.weight_ns = 7});
  maker.AddFrames(thread, {Interpreter("main")}, {.weight_ns = 1});
  const v1::Profile profile = maker.Make();
  const auto shown = WithoutInterpreterFrames(profile);
  ASSERT_TRUE(shown);
  EXPECT_THAT(Names(*shown), ElementsAre("all", "demo (4242)", "[no stack]", "start", "f", "read"));
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  for (const auto weight : profile.samples().weight_ns()) before += weight;
  for (const auto weight : shown->samples().weight_ns()) after += weight;
  EXPECT_EQ(before, after);
  EXPECT_EQ(Names(profile).size(), 9u) << "the profile itself is as it was";
}

TEST(InterpreterFrames, WithoutAnyThereIsNothingToChange) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.AddFrames(thread, {FrameFromText("start"), FrameFromText("f")}, {.weight_ns = 5});
  EXPECT_FALSE(WithoutInterpreterFrames(maker.Make()));
}

TEST(InterpreterFrames, ADamagedProfileIsLeftAlone) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.AddFrames(thread, {Interpreter("main")}, {.weight_ns = 5});
  v1::Profile profile = maker.Make();
  profile.mutable_nodes(0)->set_parent(77);
  EXPECT_FALSE(WithoutInterpreterFrames(profile));
}

}  // namespace
}  // namespace profd::client
