// StackTree: each distinct stack once, as a path in a prefix tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/symbolize/sample/symbolized_sample.h"

namespace profd::aggregate {

// Node 0 is the root, the empty stack. Bounded: once `max_nodes` is reached, a stack that would
// need new ones is cut at the leaf side and the cut counted. Used by one thread.
class StackTree {
 public:
  using NodeId = std::uint32_t;
  struct Node {
    NodeId parent = 0;
    symbolize::FrameId frame = 0;
    // The child that was looked for last; 0: none. It mostly is the one that is looked for, and
    // lies beside its parent: a look into the map would be dear.
    NodeId recent = 0;
  };

  // Other numbers of the same frames.
  using FrameMap = std::function<symbolize::FrameId(symbolize::FrameId)>;

  explicit StackTree(std::size_t max_nodes) : max_nodes_(max_nodes), nodes_(1) {}

  // The node of the leaf of a stack given leaf first.
  [[nodiscard]] NodeId Intern(std::span<const symbolize::FrameId> frames);
  // The node one frame further from the root, if it is there or there is room for it.
  [[nodiscard]] std::optional<NodeId> Child(NodeId parent, symbolize::FrameId frame);
  // `to` gives different frames different numbers.
  void RenumberFrames(const FrameMap& to);
  [[nodiscard]] const Node& At(NodeId node) const { return nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // Memory, by an estimate.
  [[nodiscard]] std::size_t bytes() const { return nodes_.size() * (sizeof(Node) + kChildBytes); }
  // Stacks that lost frames because the tree was full.
  [[nodiscard]] std::uint64_t cut() const { return cut_; }

 private:
  struct Hash {
    std::size_t operator()(std::uint64_t key) const { return MixBits(key); }
  };

  static constexpr std::size_t kChildBytes = 40;  // a node and a bucket of the map

  const std::size_t max_nodes_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, NodeId, Hash> children_;  // (parent, frame) -> node
  std::uint64_t cut_ = 0;
};

}  // namespace profd::aggregate
