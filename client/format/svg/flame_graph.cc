#include "client/format/svg/flame_graph.h"

#include <algorithm>

#include "client/profile/profile_facts.h"

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

}  // namespace

Result<FlameGraph> FlameGraph::Build(const v1::Profile& profile, const ExportOptions& options) {
  auto tree = StackTree::Build(profile, options, StatesOf(profile),
                               options.threads ? StackRoots::kThreads : StackRoots::kPrograms);
  if (!tree) return tree.error();
  return Lay(*std::move(tree));
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
    graph.nodes.push_back({i, depths[i] - skipped, start, totals[i], counts[i]});
    graph.rows = std::max(graph.rows, depths[i] - skipped + 1);
  }
  return graph;
}

}  // namespace profd::client
