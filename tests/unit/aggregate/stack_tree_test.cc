#include "daemon/aggregate/stack_tree.h"

#include <gtest/gtest.h>

#include <vector>

namespace profd::aggregate {
namespace {

using Frames = std::vector<symbolize::FrameId>;

TEST(StackTree, TheEmptyStackIsTheRoot) {
  StackTree tree(10);
  EXPECT_EQ(tree.Intern({}), 0u);
  EXPECT_EQ(tree.size(), 1u);
}

TEST(StackTree, KeepsEachStackOnceAndSharesCallers) {
  StackTree tree(10);
  const auto leaf = tree.Intern(Frames{7, 5, 1});  // 1 calls 5 calls 7
  EXPECT_EQ(tree.Intern(Frames{7, 5, 1}), leaf);
  EXPECT_EQ(tree.size(), 4u);
  const auto sibling = tree.Intern(Frames{8, 5, 1});
  EXPECT_EQ(tree.size(), 5u);
  EXPECT_EQ(tree.At(sibling).parent, tree.At(leaf).parent);
  EXPECT_EQ(tree.At(leaf).frame, 7u);
  EXPECT_EQ(tree.Intern(Frames{5, 1}), tree.At(leaf).parent);
}

TEST(StackTree, CutsAtTheLeafWhenFull) {
  StackTree tree(3);
  const auto node = tree.Intern(Frames{9, 2, 1});
  EXPECT_EQ(tree.At(node).frame, 2u);
  EXPECT_EQ(tree.cut(), 1u);
  EXPECT_EQ(tree.Intern(Frames{2, 1}), node);
  EXPECT_EQ(tree.cut(), 1u);
}

TEST(StackTree, WhatWasInternedBeforeDoesNotMatter) {
  const std::vector<Frames> stacks{{7, 5, 1}, {5, 1}, {8, 5, 1}, {1}, {},        {5, 2},
                                   {5, 1, 1}, {7, 5}, {7, 5, 1}, {9}, {7, 5, 1}, {6, 7, 5, 1}};
  StackTree tree(100);
  const auto frames_of = [&](StackTree::NodeId node) {
    Frames frames;
    for (; node != 0; node = tree.At(node).parent) frames.push_back(tree.At(node).frame);
    return frames;
  };
  for (const auto& first : stacks)
    for (const auto& second : stacks) {
      EXPECT_EQ(frames_of(tree.Intern(first)), first);
      EXPECT_EQ(frames_of(tree.Intern(second)), second);
    }
  const auto size = tree.size();
  tree.RenumberFrames([](symbolize::FrameId frame) { return frame + 10; });
  EXPECT_EQ(frames_of(tree.Intern(Frames{17, 15, 11})), (Frames{17, 15, 11}));
  EXPECT_EQ(tree.size(), size);
  EXPECT_EQ(frames_of(tree.Intern(Frames{7, 5, 1})), (Frames{7, 5, 1}));
  EXPECT_EQ(tree.size(), size + 3);
}

}  // namespace
}  // namespace profd::aggregate
