#include "client/format/svg/flame_graph.h"

#include <gtest/gtest.h>

#include <map>

#include "client/profile/share_error.h"
#include "tests/support/sample_profiles.h"

namespace profd::client {
namespace {

TEST(FlameGraph, ChildrenLieWithinTheirParentsHeaviestFirst) {
  for (const v1::Profile& profile : {testing::SmallProfile(), testing::TypicalProfile(),
                                     testing::LargeProfile(5000), testing::HostileProfile()}) {
    const auto graph = FlameGraph::Build(profile, {.threads = true});
    ASSERT_TRUE(graph);
    std::vector<const FlameNode*> open;  // by depth
    std::vector<std::uint64_t> next;     // by depth: where the next child starts
    std::uint64_t last_total = 0;
    for (const FlameNode& node : graph->nodes) {
      const bool first_child = node.depth == open.size();
      if (!first_child) last_total = open[node.depth]->total_ns;
      open.resize(node.depth);
      next.resize(node.depth + 1);
      if (node.depth > 0) {
        const FlameNode& parent = *open.back();
        const std::uint64_t expected = first_child ? parent.start_ns : next[node.depth];
        EXPECT_EQ(node.start_ns, expected);
        EXPECT_LE(node.start_ns + node.total_ns, parent.start_ns + parent.total_ns);
        EXPECT_LE(node.count, parent.count);
        if (!first_child) {
          EXPECT_LE(node.total_ns, last_total);
        }
      }
      next[node.depth] = node.start_ns + node.total_ns;
      open.push_back(&node);
      EXPECT_LT(node.depth, graph->rows);
    }
    EXPECT_EQ(graph->nodes.front().total_ns, graph->total_ns);
  }
}

TEST(FlameGraph, AnOnlyProcessIsTheRoot) {
  const auto one = FlameGraph::Build(testing::SmallProfile(), {});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->LabelOf(one->nodes.front()), "demo (4242)");
  const auto several = FlameGraph::Build(testing::HostileProfile(), {});
  ASSERT_TRUE(several);
  EXPECT_EQ(several->LabelOf(several->nodes.front()), "all");
}

TEST(FlameGraph, FramesHaveTheIntervalOfAllAboveThem) {
  const auto graph = FlameGraph::Build(testing::SampledProfile(), {});
  ASSERT_TRUE(graph);
  // An edge is one of 100 points, so the standard error of 60 % and of 40 % is 1 %.
  const Interval interval = WilsonInterval(0.6, 0.01 * 0.01);
  const auto reach_ns = static_cast<double>(graph->total_ns) * (0.6 - interval.low);
  std::map<std::string, double> reaches;
  for (const FlameNode& frame : graph->nodes)
    reaches[graph->LabelOf(frame)] = static_cast<double>(frame.reach_ns);
  EXPECT_EQ(reaches.at("main"), 0) << "what one stack has too much is missing in the other";
  EXPECT_NEAR(reaches.at("read"), reach_ns, 100);
  EXPECT_NEAR(reaches.at("lock"), reach_ns, 100);
}

TEST(FlameGraph, NothingHasNoFrames) {
  for (const v1::Profile& profile : {testing::EmptyProfile(), v1::Profile()}) {
    const auto graph = FlameGraph::Build(profile, {});
    ASSERT_TRUE(graph);
    EXPECT_TRUE(graph->nodes.empty());
    EXPECT_EQ(graph->rows, 0u);
  }
}

}  // namespace
}  // namespace profd::client
