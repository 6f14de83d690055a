#include "client/format/svg/flame_graph.h"

#include <algorithm>
#include <cmath>

#include "client/profile/profile_facts.h"
#include "client/profile/share_error.h"

namespace profd::client {
namespace {

StateFrames StatesOf(const v1::Profile& profile) {
  switch (ModeOf(profile)) {
    case Mode::kWall:
      return StateFrames::kAll;
    case Mode::kOnCpu:
      return StateFrames::kNone;
    default:
      return StateFrames::kWaiting;
  }
}

void FindReaches(const v1::Profile& profile, FlameGraph& graph) {
  const ShareError error(profile);
  if (!error.known()) return;
  const std::vector<TreeNode>& nodes = graph.tree.nodes;
  std::vector<ErrorSum> sums(nodes.size());
  for (std::size_t i = 0; i < graph.tree.leaves.size(); ++i)
    error.Add(static_cast<int>(i), sums[graph.tree.leaves[i]]);
  for (std::size_t i = nodes.size(); i-- > 1;) sums[nodes[i].parent] += sums[i];
  const auto total = static_cast<double>(graph.total_ns);
  for (FlameNode& frame : graph.nodes) {
    const double reach = ShareReach(sums[frame.node], graph.total_ns).value_or(0);
    frame.reach_ns = static_cast<std::uint64_t>(std::llround(total * reach));
  }
}

}  // namespace

Result<FlameGraph> FlameGraph::Build(const v1::Profile& profile, const ExportOptions& options) {
  auto tree = StackTree::Build(profile, options, StatesOf(profile),
                               options.threads ? StackRoots::kThreads : StackRoots::kPrograms);
  if (!tree) return tree.error();
  FlameGraph graph = Lay(*std::move(tree));
  FindReaches(profile, graph);
  return graph;
}

FlameGraph FlameGraph::Lay(StackTree tree) {
  FlameGraph graph;
  graph.tree = std::move(tree);
  const std::vector<TreeNode>& nodes = graph.tree.nodes;

  std::vector<std::uint64_t> totals(nodes.size());
  std::vector<std::uint64_t> counts(nodes.size());
  std::uint32_t top_frames = 0;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    totals[i] += nodes[i].self_ns;
    counts[i] += nodes[i].self_count;
    if (i == 0) break;
    totals[nodes[i].parent] += totals[i];
    counts[nodes[i].parent] += counts[i];
    if (nodes[i].parent == 0 && totals[i] > 0) ++top_frames;
  }

  graph.total_ns = totals[0];
  const std::uint32_t skipped = top_frames == 1 ? 1 : 0;  // the row of "all"
  std::vector<std::uint32_t> depths(nodes.size(), 0);
  std::vector<std::uint64_t> next_start(nodes.size(), 0);  // for the next child
  for (const std::uint32_t i : graph.tree.ByWeight(totals)) {
    const std::uint32_t parent = nodes[i].parent;
    if (i != 0) depths[i] = depths[parent] + 1;
    const std::uint64_t start = next_start[parent];
    next_start[parent] += i != 0 ? totals[i] : 0;
    next_start[i] = start;
    if (depths[i] < skipped || totals[i] == 0) continue;
    graph.nodes.push_back({i, depths[i] - skipped, start, totals[i], counts[i], 0});
    graph.rows = std::max(graph.rows, depths[i] - skipped + 1);
  }
  return graph;
}

}  // namespace profd::client
