// StackTree: a prefix tree that holds each distinct stack once, as a path.
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

// Node 0 is the root, the empty stack. A parent has a smaller number than its children. Once the
// tree has `max_nodes`, it cuts new stacks at the leaf side and counts the cuts. Used by one
// thread.
class StackTree {
 public:
  using NodeId = std::uint32_t;
  struct Node {
    NodeId parent = 0;
    symbolize::FrameId frame = 0;
    // The child that was found last; 0: none. The next search mostly wants the same one, and finds
    // it here without a lookup in the map, which costs a cache miss.
    NodeId recent = 0;
  };

  // From the old id of a frame to its new id.
  using FrameMap = std::function<symbolize::FrameId(symbolize::FrameId)>;

  explicit StackTree(std::size_t max_nodes) : max_nodes_(max_nodes), nodes_(1) {}

  // The leaf node of a stack, which is added if it is new. `frames` come leaf first.
  [[nodiscard]] NodeId Intern(std::span<const symbolize::FrameId> frames);
  // The child of `parent` for `frame`, which is added if it is new. Nothing: the tree is full.
  [[nodiscard]] std::optional<NodeId> Child(NodeId parent, symbolize::FrameId frame);
  // `to` must give different frames different ids.
  void RenumberFrames(const FrameMap& to);
  [[nodiscard]] const Node& At(NodeId node) const { return nodes_[node]; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // An estimate of the memory that the tree holds.
  [[nodiscard]] std::size_t bytes() const { return nodes_.size() * (sizeof(Node) + kChildBytes); }
  // The number of stacks that lost frames because the tree was full.
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
