#include "daemon/aggregate/stack_tree.h"

#include <ranges>

namespace profd::aggregate {

std::optional<StackTree::NodeId> StackTree::Child(NodeId parent, symbolize::FrameId frame) {
  const NodeId recent = nodes_[parent].recent;
  if (recent != 0 && nodes_[recent].frame == frame) return recent;
  const std::uint64_t key = (std::uint64_t{parent} << 32) | frame;
  if (const auto found = children_.find(key); found != children_.end())
    return nodes_[parent].recent = found->second;
  if (nodes_.size() >= max_nodes_) return std::nullopt;
  const auto made = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(Node{parent, frame});
  children_.emplace(key, made);
  return nodes_[parent].recent = made;
}

StackTree::NodeId StackTree::Intern(std::span<const symbolize::FrameId> frames) {
  NodeId node = 0;
  for (const auto frame : frames | std::views::reverse) {
    const auto child = Child(node, frame);
    if (!child) {
      ++cut_;
      break;
    }
    node = *child;
  }
  return node;
}

void StackTree::RenumberFrames(const FrameMap& to) {
  children_.clear();
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    nodes_[i].frame = to(nodes_[i].frame);
    children_.emplace((std::uint64_t{nodes_[i].parent} << 32) | nodes_[i].frame,
                      static_cast<NodeId>(i));
  }
}

}  // namespace profd::aggregate
