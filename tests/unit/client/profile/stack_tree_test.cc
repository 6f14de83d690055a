#include "client/profile/stack_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/support/profile_maker.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

using ::testing::ElementsAre;
using testing::FrameFromText;
using testing::ProfileMaker;

std::vector<std::string> Names(const StackTree& tree, const std::vector<std::uint32_t>& order) {
  std::vector<std::string> names;
  for (const std::uint32_t i : order) names.push_back(tree.labels[tree.nodes[i].label]);
  return names;
}

TEST(StackTree, MergesFramesOfOneNameAndRemembersTheirLines) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  v1::Frame frame = FrameFromText("main");
  frame.set_file("/src/main.cc");
  for (const std::uint32_t line : {20u, 10u, 0u, 30u}) {
    frame.set_line(line);
    frame.set_offset(line);
    maker.AddFrames(thread, {frame, FrameFromText("leaf")}, {.weight_ns = 5});
  }
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kNone, StackRoots::kProcesses);
  ASSERT_TRUE(tree);
  ASSERT_THAT(Names(*tree, tree->ByName()), ElementsAre("all", "demo (4242)", "main", "leaf"));
  EXPECT_EQ(tree->nodes[2].first_line, 10u);
  EXPECT_EQ(tree->nodes[2].last_line, 30u);
  EXPECT_EQ(tree->nodes[3].self_ns, 20u);
  EXPECT_EQ(tree->nodes[3].self_count, 4u);
}

TEST(StackTree, StackOfOneThreadDoesNotLeakIntoAnother) {
  const v1::Profile profile = testing::SmallProfile();
  const auto tree = StackTree::Build(profile, {}, StateFrames::kWaiting, StackRoots::kThreads);
  ASSERT_TRUE(tree);
  EXPECT_THAT(Names(*tree, tree->ByName()),
              ElementsAre("all", "demo (4242)", "demo (4242)", "_start", "main", "compute",
                          "[runnable]", "wait", "futex_wait_[k]", "[blocked:lock]", "worker (4243)",
                          "_start", "run", "[blocked:sleep]", "fsync_[k]", "[blocked:io]"));
}

TEST(StackTree, PathsStandBehindStatesAndChangeNoSum) {
  const v1::Profile profile = testing::WaitingProfile();
  const auto totals = [](const StackTree& tree) {
    std::map<std::string, std::uint64_t> by_state;
    std::vector<std::uint64_t> ns;
    for (const TreeNode& node : tree.nodes) ns.push_back(node.self_ns);
    for (std::size_t i = tree.nodes.size(); i-- > 1;) ns[tree.nodes[i].parent] += ns[i];
    for (std::size_t i = 0; i < tree.nodes.size(); ++i)
      if (tree.nodes[i].kind >= NodeKind::kWorking && tree.nodes[i].kind != NodeKind::kPath)
        by_state[tree.labels[tree.nodes[i].label]] += ns[i];
    by_state["all"] = ns[0];
    return by_state;
  };
  const auto plain = StackTree::Build(profile, {}, StateFrames::kAll, StackRoots::kProcesses);
  ASSERT_TRUE(plain);
  for (const PathDetail detail : {PathDetail::kSteps, PathDetail::kStacks}) {
    const auto tree =
        StackTree::Build(profile, {.on_whom = detail}, StateFrames::kAll, StackRoots::kProcesses);
    ASSERT_TRUE(tree);
    EXPECT_GT(tree->nodes.size(), plain->nodes.size());
    EXPECT_EQ(totals(*tree), totals(*plain));
    const auto bare =
        StackTree::Build(profile, {.on_whom = detail}, StateFrames::kNone, StackRoots::kProcesses);
    ASSERT_TRUE(bare);
    for (const TreeNode& node : bare->nodes) EXPECT_NE(node.kind, NodeKind::kPath);
  }
  // A profile of before has no paths.
  const v1::Profile old = testing::SmallProfile();
  const auto tree = StackTree::Build(old, {.on_whom = PathDetail::kStacks}, StateFrames::kAll,
                                     StackRoots::kProcesses);
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->nodes.size(),
            StackTree::Build(old, {}, StateFrames::kAll, StackRoots::kProcesses)->nodes.size());
}

TEST(StackTree, OrdersByWeightThenName) {
  ProfileMaker maker;
  const auto thread = maker.AddThread(1, "t");
  maker.Add(thread, {"light"}, {.weight_ns = 1});
  maker.Add(thread, {"b"}, {.weight_ns = 5});
  maker.Add(thread, {"a"}, {.weight_ns = 5});
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kNone, StackRoots::kProcesses);
  ASSERT_TRUE(tree);
  std::vector<std::uint64_t> weights;
  for (const TreeNode& node : tree->nodes) weights.push_back(node.self_ns);
  EXPECT_THAT(Names(*tree, tree->ByWeight(weights)),
              ElementsAre("all", "demo (4242)", "a", "b", "light"));
}

TEST(StackTree, NumberedProcessesOfOneNameAreOne) {
  // A pid that was used twice in one session: the same name, so one frame, and no time lost.
  ProfileMaker maker;
  const auto again = maker.AddProcess(4242, "demo");
  maker.Add(maker.AddThread(1, "t"), {"f"}, {.weight_ns = 3});
  maker.Add(maker.AddThread(2, "t", again), {"f"}, {.weight_ns = 4});
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kNone, StackRoots::kProcesses);
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->nodes.size(), 3u);
  EXPECT_EQ(tree->nodes[2].self_ns, 7u);
}

TEST(StackTree, ASampleWithoutStackSaysSo) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(1, "t"), {});
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kAll, StackRoots::kProcesses);
  ASSERT_TRUE(tree);
  EXPECT_THAT(Names(*tree, tree->ByName()),
              ElementsAre("all", "demo (4242)", "[no stack]", "[working]"));
}

TEST(StackTree, ProcessesOfOneProgramAreOneRoot) {
  ProfileMaker maker;
  maker.Add(maker.AddThread(4242, "demo"), {"f"});
  for (const std::uint32_t pid : {5001u, 5002u, 5003u, 5004u, 5005u}) {
    const std::string script = pid < 5004 ? "train.py" : "serve.py";
    const auto process =
        maker.AddProcess(pid, "python3", "python3 " + script + " --rank=" + std::to_string(pid));
    maker.Add(maker.AddThread(pid, "python3", process), {"main", "step"}, {.weight_ns = 10});
  }
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kNone, StackRoots::kPrograms);
  ASSERT_TRUE(tree);
  std::map<std::string, int> roots;
  for (const TreeNode& node : tree->nodes)
    if (node.kind == NodeKind::kProcess) ++roots[tree->labels[node.label]];
  EXPECT_EQ(roots.size(), 3u);
  EXPECT_EQ(roots["python3 x 3"], 1);
  EXPECT_EQ(roots["python3 x 2"], 1);
  std::uint64_t step_ns = 0;
  for (const TreeNode& node : tree->nodes)
    if (tree->labels[node.label] == "step") step_ns = std::max(step_ns, node.self_ns);
  EXPECT_EQ(step_ns, 30u);
}

TEST(StackTree, AGroupCountsAsManyProcessesAsItHas) {
  ProfileMaker maker;
  for (const std::uint32_t size : {412u, 0u}) {
    const auto process = maker.AddProcess(size == 0 ? 5001 : 0, "cc1");
    maker.profile().mutable_processes(static_cast<int>(process))->set_group_size(size);
    maker.Add(maker.AddThread(size == 0 ? 5001 : 0, "cc1", process), {"main"});
  }
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kNone, StackRoots::kPrograms);
  ASSERT_TRUE(tree);
  EXPECT_THAT(Names(*tree, tree->ByName()), ElementsAre("all", "cc1 x 413", "main"));
}

TEST(StackTree, ProgramsOfOneNameStayApart) {
  ProfileMaker maker;
  for (const std::uint32_t pid : {5001u, 5002u, 5003u, 5004u}) {
    const auto process = maker.AddProcess(pid, "python3", pid < 5003 ? "a.py" : "b.py");
    maker.Add(maker.AddThread(pid, "python3", process), {"main"});
  }
  const auto tree = StackTree::Build(maker.Make(), {}, StateFrames::kNone, StackRoots::kPrograms);
  ASSERT_TRUE(tree);
  const auto count = [&](const std::string& label) {
    return std::ranges::count_if(
        tree->nodes, [&](const TreeNode& node) { return tree->labels[node.label] == label; });
  };
  EXPECT_EQ(count("python3 x 2"), 1);
  EXPECT_EQ(count("python3 x 2 of python3 b.py"), 1);
}

}  // namespace
}  // namespace profd::client
