#include "daemon/aggregate/stack_tree.h"

#include <ranges>

namespace profd::aggregate {

std::optional<StackTree::NodeId> StackTree::Child(NodeId parent, symbolize::FrameId frame) {
  const std::uint64_t key = (std::uint64_t{parent} << 32) | frame;
  if (const auto found = children_.find(key); found != children_.end()) return found->second;
  if (nodes_.size() >= max_nodes_) return std::nullopt;
  const auto made = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(Node{parent, frame});
  children_.emplace(key, made);
  return made;
}

StackTree::NodeId StackTree::Intern(std::span<const symbolize::FrameId> frames) {
  NodeId node = 0;
  std::size_t depth = 0;
  for (const auto frame : frames | std::views::reverse) {
    if (depth == path_.size() || path_[depth].frame != frame) {
      path_.resize(depth);
      const auto child = Child(node, frame);
      if (!child) {
        ++cut_;
        break;
      }
      path_.push_back({frame, *child});
    }
    node = path_[depth++].node;
  }
  return node;
}

void StackTree::RenumberFrames(const FrameMap& to) {
  path_.clear();
  children_.clear();
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    nodes_[i].frame = to(nodes_[i].frame);
    children_.emplace((std::uint64_t{nodes_[i].parent} << 32) | nodes_[i].frame,
                      static_cast<NodeId>(i));
  }
}

}  // namespace profd::aggregate
