#include "daemon/aggregate/stack_tree.h"

#include <ranges>

namespace profd::aggregate {

StackTree::NodeId StackTree::Intern(std::span<const symbolize::FrameId> frames) {
  NodeId node = 0;
  for (const auto frame : frames | std::views::reverse) {
    const std::uint64_t key = (std::uint64_t{node} << 32) | frame;
    if (const auto found = children_.find(key); found != children_.end()) {
      node = found->second;
      continue;
    }
    if (nodes_.size() >= max_nodes_) {
      ++cut_;
      break;
    }
    const auto made = static_cast<NodeId>(nodes_.size());
    nodes_.push_back(Node{node, frame});
    children_.emplace(key, made);
    node = made;
  }
  return node;
}

}  // namespace profd::aggregate
