// TreeBuilder: a CallTree, stack by stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "client/profile/report/call_tree.h"

namespace profd::client {

// One frame of a stack, or several that are shown as one.
struct TreeStep {
  std::uint32_t label = 0;               // equal ones below one parent are one node
  std::uint32_t function = kNoFunction;  // one that a group stands for; kNoFunction: it is no group

  static constexpr std::uint32_t kNoFunction = ~0u;
};

// Used by one thread.
class TreeBuilder {
 public:
  explicit TreeBuilder(TreeOrder order) : order_(order), nodes_(1), last_(1, kNone) {}

  // The node of a step below `parent`, which is 0 for the root. In a timeline the one that was met
  // last goes on if it is of that step. A group that follows itself is one.
  [[nodiscard]] std::uint32_t Child(std::uint32_t parent, const TreeStep& step);
  // Time of a stack that ends at `node`.
  void AddSelf(std::uint32_t node, const ReportTime& time);
  // Nodes so far, with the root.
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  // The texts of labels and of functions. A group of one function is called as that.
  [[nodiscard]] CallTree Take(const std::vector<std::string>& labels,
                              const std::vector<std::string>& functions, std::string root) &&;

 private:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t label = 0;
    std::size_t functions = 0;
    std::uint32_t function = 0;  // one of them
    bool group = false;
    ReportTime self;
  };
  static constexpr std::uint32_t kNone = ~0u;

  [[nodiscard]] std::uint32_t Find(std::uint32_t parent, const TreeStep& step);

  const TreeOrder order_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> last_;  // by node, of a timeline: the child that may go on
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // (parent, label) -> node
  std::unordered_set<std::uint64_t> functions_;                // (node, function)
};

}  // namespace profd::client
