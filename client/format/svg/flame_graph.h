// FlameGraph: a stack tree laid out as it is drawn. What the picture and the data of the svg share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/profile/stack_tree.h"

namespace profd::client {

// One frame. Widths and places are ns: a fraction of total_ns is a fraction of the page's width.
struct FlameNode {
  std::uint32_t node = 0;   // index into tree.nodes
  std::uint32_t depth = 0;  // 0: the root's row
  std::uint64_t start_ns = 0;
  std::uint64_t total_ns = 0;  // of the frame and all above it
  std::uint64_t count = 0;     // samples behind total_ns
  std::uint64_t reach_ns = 0;  // of the 95 % interval of total_ns, on its longer side; 0: not known
};

struct FlameGraph {
  StackTree tree;
  std::vector<FlameNode> nodes;  // each directly followed by what is above it, heaviest first
  std::uint64_t total_ns = 0;
  std::uint32_t rows = 0;

  // `profile` has passed CheckProfile. The root is the process if there is only one, else "all".
  [[nodiscard]] static Result<FlameGraph> Build(const v1::Profile& profile,
                                                const ExportOptions& options);
  // Of a tree that is made already.
  [[nodiscard]] static FlameGraph Lay(StackTree tree);

  [[nodiscard]] const TreeNode& TreeNodeOf(const FlameNode& node) const {
    return tree.nodes[node.node];
  }
  [[nodiscard]] const std::string& LabelOf(const FlameNode& node) const {
    return tree.labels[TreeNodeOf(node).label];
  }
};

}  // namespace profd::client
