#include "client/profile/report/tree_builder.h"

#include <algorithm>
#include <utility>

namespace profd::client {

std::uint32_t TreeBuilder::Child(std::uint32_t parent, const TreeStep& step) {
  const bool group = step.function != TreeStep::kNoFunction;
  const bool goes_on = group && nodes_[parent].group && nodes_[parent].label == step.label;
  const std::uint32_t node = goes_on ? parent : Find(parent, step);
  if (group && functions_.insert(std::uint64_t{node} << 32 | step.function).second) {
    nodes_[node].function = step.function;
    ++nodes_[node].functions;
  }
  return node;
}

std::uint32_t TreeBuilder::Find(std::uint32_t parent, const TreeStep& step) {
  const auto next = static_cast<std::uint32_t>(nodes_.size());
  if (order_ == TreeOrder::kTimeline) {
    const std::uint32_t last = last_[parent];
    if (last != kNone && nodes_[last].label == step.label) return last;
    last_[parent] = next;
  } else {
    const auto [known, added] = children_.emplace(std::uint64_t{parent} << 32 | step.label, next);
    if (!added) return known->second;
  }
  Node& node = nodes_.emplace_back();
  node.parent = parent;
  node.label = step.label;
  node.group = step.function != TreeStep::kNoFunction;
  last_.push_back(kNone);
  return next;
}

void TreeBuilder::AddSelf(std::uint32_t node, const ReportTime& time) {
  nodes_[node].self += time;
  last_[node] = kNone;  // what it called has returned
}

CallTree TreeBuilder::Take(const std::vector<std::string>& labels,
                           const std::vector<std::string>& functions, std::string root) && {
  CallTree tree;
  tree.nodes.resize(nodes_.size());
  tree.nodes[0].name = std::move(root);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    CallNode& made = tree.nodes[i];
    made.parent = node.parent;
    made.total += node.self;
    made.self = node.self;
    if (i == 0) continue;
    made.depth = tree.nodes[node.parent].depth + 1;
    made.name = node.group && node.functions == 1 ? functions[node.function] : labels[node.label];
    made.hidden = node.functions > 1 ? node.functions : 0;
    tree.nodes[node.parent].children.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = nodes_.size() - 1; i > 0; --i)
    tree.nodes[nodes_[i].parent].total += tree.nodes[i].total;
  if (order_ == TreeOrder::kTimeline) return tree;
  for (CallNode& node : tree.nodes)
    std::ranges::sort(node.children, [&](std::uint32_t a, std::uint32_t b) {
      const std::uint64_t a_ns = tree.nodes[a].total.all().ns;
      const std::uint64_t b_ns = tree.nodes[b].total.all().ns;
      return a_ns != b_ns ? a_ns > b_ns : tree.nodes[a].name < tree.nodes[b].name;
    });
  return tree;
}

}  // namespace profd::client
