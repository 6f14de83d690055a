#include "client/format/graph/call_graph.h"

#include <cstddef>

#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kNone = ~0u;

bool IsNothing(const ReportTime& time) { return time.all().ns == 0 && time.all().points == 0; }

// Walks all stacks once, from the root outwards.
class Walk {
 public:
  explicit Walk(const PlaceTree& tree)
      : tree_(tree), children_(tree.nodes.size()), innermost_(tree.functions.size(), kNone) {
    graph_.totals.resize(tree.functions.size());
    for (std::size_t i = 1; i < tree.nodes.size(); ++i)
      children_[tree.nodes[i].parent].push_back(static_cast<std::uint32_t>(i));
    SumUp();
  }

  CallGraph Run() && {
    for (const std::uint32_t root : children_[0]) WalkFrom(root);
    for (std::size_t i = 1; i < calls_.size(); ++i) AddCall(i);
    return std::move(graph_);
  }

 private:
  struct Step {
    std::uint32_t node = 0;
    std::uint32_t before = kNone;  // in path_: where its function stands further out
    std::size_t next = 0;          // child
  };

  void WalkFrom(std::uint32_t root) {
    Enter(root);
    while (!path_.empty()) {
      Step& step = path_.back();
      const auto& children = children_[step.node];
      if (step.next < children.size())
        Enter(children[step.next++]);
      else
        Leave();
    }
  }

  // Of each node all stacks that go through it: what the call to it takes, but for recursion.
  void SumUp() {
    for (const PlaceTree::Node& node : tree_.nodes) {
      calls_.push_back(node.self);
      if (!IsNothing(node.self)) graph_.self[node.place] += node.self;
    }
    for (std::size_t i = calls_.size() - 1; i > 0; --i) calls_[tree_.nodes[i].parent] += calls_[i];
    through_ = calls_;
  }

  void Enter(std::uint32_t node) {
    const std::uint32_t function = tree_.nodes[node].place.function;
    const auto depth = static_cast<std::uint32_t>(path_.size());
    const std::uint32_t before = innermost_[function];
    path_.push_back({node, before});
    innermost_[function] = depth;
    if (before == kNone)
      graph_.totals[function] += through_[node];
    else  // the call that the frame further out makes does not count for these stacks
      calls_[path_[before + 1].node] -= through_[node];
  }

  void Leave() {
    innermost_[tree_.nodes[path_.back().node].place.function] = path_.back().before;
    path_.pop_back();
  }

  void AddCall(std::size_t i) {
    if (IsNothing(calls_[i])) return;
    const PlaceTree::Node& node = tree_.nodes[i];
    if (node.parent == 0)
      graph_.roots[node.place.function] += calls_[i];
    else
      graph_.calls[{tree_.nodes[node.parent].place, node.place.function}] += calls_[i];
  }

  const PlaceTree& tree_;
  CallGraph graph_;
  std::vector<ReportTime> calls_;    // by node, what becomes the call to it
  std::vector<ReportTime> through_;  // by node
  std::vector<std::vector<std::uint32_t>> children_;
  std::vector<std::uint32_t> innermost_;  // by function, in path_
  std::vector<Step> path_;
};

}  // namespace

PlaceTree PlaceTree::Of(const v1::Profile& profile, const ExportOptions& options) {
  PlaceTree tree;
  std::map<GraphFunction, std::uint32_t> known;
  const auto number = [&](GraphFunction function) {
    const auto next = static_cast<std::uint32_t>(tree.functions.size());
    const auto [found, is_new] = known.try_emplace(std::move(function), next);
    if (is_new) tree.functions.push_back(found->first);
    return found->second;
  };
  const FrameStyle style{.signature = options.signatures,
                         .mangled = options.mangled,
                         .place = false,
                         .inlined = false};
  std::vector<GraphPlace> places;
  places.reserve(static_cast<std::size_t>(profile.frames_size()));
  for (const v1::Frame& frame : profile.frames())
    places.push_back(
        {number({FrameName(frame, style), frame.file().empty() ? "" : SafeName(frame.file()),
                 frame.module().empty() ? "" : SafeName(frame.module())}),
         frame.line()});
  tree.nodes.resize(1);
  tree.nodes.reserve(static_cast<std::size_t>(profile.nodes_size()) + 2);
  for (const v1::StackNode& node : profile.nodes())
    tree.nodes.push_back({node.parent(), places[node.frame()], {}});
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i)
    tree.nodes[samples.node(i)].self.Add(profile, i);
  if (IsNothing(tree.nodes[0].self)) return tree;
  const ReportTime no_stack = std::exchange(tree.nodes[0].self, {});
  tree.nodes.push_back({0, {number({std::string(kNoStack), "", ""}), 0}, no_stack});
  return tree;
}

CallGraph CallGraph::Of(const PlaceTree& tree) { return Walk(tree).Run(); }

}  // namespace profd::client
