#include "client/profile/stack_tree.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>
#include <string>
#include <tuple>
#include <unordered_map>

#include "client/profile/path_frames.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

NodeKind KindOf(v1::FrameKind kind) {
  switch (kind) {
    case v1::FRAME_KERNEL:
      return NodeKind::kKernel;
    case v1::FRAME_PYTHON:
      return NodeKind::kPython;
    case v1::FRAME_JIT:
      return NodeKind::kJit;
    case v1::FRAME_PSEUDO:
      return NodeKind::kPseudo;
    default:
      return NodeKind::kNative;
  }
}

NodeKind KindOf(v1::State state, bool spinning) {
  switch (state) {
    case v1::STATE_ON_CPU:
      return spinning ? NodeKind::kSpinning : NodeKind::kWorking;
    case v1::STATE_RUNNABLE:
      return NodeKind::kRunnable;
    default:
      return NodeKind::kBlocked;
  }
}

std::uint64_t Pair(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

class Builder {
 public:
  Builder(const v1::Profile& profile, const ExportOptions& options, StateFrames states,
          StackRoots roots)
      : profile_(profile),
        states_(states),
        kind_(roots),
        on_whom_(options.on_whom),
        programs_(profile) {
    tree_.nodes.push_back({.label = Label("all")});
    frame_labels_.reserve(static_cast<std::size_t>(profile.frames_size()));
    const FrameStyle style{
        .signature = options.signatures, .mangled = options.mangled, .line = options.lines};
    for (const v1::Frame& frame : profile.frames())
      frame_labels_.push_back(Label(FrameName(frame, style)));
    roots_.resize(
        static_cast<std::size_t>(OfThreads() ? profile.threads_size() : profile.processes_size()));
  }

  Result<StackTree> Build() && {
    const v1::Samples& samples = profile_.samples();
    for (int i = 0; i < samples.weight_ns_size(); ++i) {
      if (tree_.nodes.size() > StackTree::kMaxNodes || placed_.size() > kMaxPlaces)
        return Error{ErrorCode::kExhausted, "the profile has too many distinct stacks",
                     on_whom_ == PathDetail::kNone
                         ? "leave out --threads, or collect fewer processes at a time"
                         : "leave out --on-whom or --threads"};
      AddSample(samples, i);
    }
    return std::move(tree_);
  }

 private:
  static constexpr std::size_t kMaxPlaces = 4 * StackTree::kMaxNodes;

  bool OfThreads() const {
    return kind_ == StackRoots::kThreads || kind_ == StackRoots::kThreadNames;
  }

  void AddSample(const v1::Samples& samples, int i) {
    const std::uint32_t root = Root(samples.thread(i));
    std::uint32_t node = samples.node(i) != 0 ? Stack(root, samples.node(i))
                                              : Child(root, NodeKind::kPseudo, Label(kNoStack));
    const NodeKind kind = KindOf(samples.state(i), IsSpinning(profile_, i));
    const bool waits = kind != NodeKind::kWorking;
    if (states_ == StateFrames::kAll || (states_ == StateFrames::kWaiting && waits))
      node = Child(node, kind, Label(StateFrameName(profile_, i)));
    if (kind == NodeKind::kBlocked && states_ != StateFrames::kNone && samples.path_size() > 0)
      node = Path(node, samples.thread(i), samples.path(i));
    tree_.leaves.push_back(node);
    tree_.nodes[node].self_ns += samples.weight_ns(i);
    tree_.nodes[node].self_count += samples.count(i);
    if (samples.exact(i)) tree_.nodes[node].self_exact_ns += samples.weight_ns(i);
  }

  // The node for a path behind the state `node`.
  std::uint32_t Path(std::uint32_t node, std::uint32_t thread, std::uint32_t path) {
    if (path == 0 || on_whom_ == PathDetail::kNone) return node;
    const std::uint32_t process = profile_.threads(static_cast<int>(thread)).process();
    const auto [known, is_new] = path_ends_.try_emplace({node, process, path});
    if (!is_new) return known->second;
    const std::uint32_t pid = profile_.processes(static_cast<int>(process)).pid();
    for (const PathFrame& frame : PathFramesOf(profile_, path, pid, on_whom_)) {
      node = Child(node, NodeKind::kPath, Label(frame.name));
      if (frame.stack != 0) node = Stack(node, frame.stack);
    }
    return known->second = node;
  }

  // The node that stacks of this thread hang on.
  std::uint32_t Root(std::uint32_t thread_index) {
    const v1::Thread& thread = profile_.threads(static_cast<int>(thread_index));
    std::uint32_t& root = roots_[OfThreads() ? thread_index : thread.process()];
    if (root != 0) return root;
    const v1::Process& process = profile_.processes(static_cast<int>(thread.process()));
    root = Child(0, NodeKind::kProcess, Label(RootName(process)));
    if (OfThreads())
      root = Child(root, NodeKind::kThread,
                   Label(kind_ == StackRoots::kThreads ? ThreadName(thread)
                                                       : SafeName(WithoutNumbers(thread.comm()))));
    return root;
  }

  std::string RootName(const v1::Process& process) {
    if (kind_ == StackRoots::kNames || kind_ == StackRoots::kThreadNames)
      return SafeName(process.comm());
    return kind_ == StackRoots::kPrograms ? programs_.Of(process) : ProcessName(process);
  }

  // The node for the profile's stack `leaf` under `root`. Walks up to the first known place.
  std::uint32_t Stack(std::uint32_t root, std::uint32_t leaf) {
    path_.clear();
    std::uint32_t node = root;
    for (std::uint32_t at = leaf; at != 0; at = Node(at).parent()) {
      const auto known = placed_.find(Pair(root, at));
      if (known != placed_.end()) {
        node = known->second;
        break;
      }
      path_.push_back(at);
    }
    for (const auto at : std::views::reverse(path_)) {
      node = Frame(node, Node(at).frame());
      placed_.emplace(Pair(root, at), node);
    }
    return node;
  }

  std::uint32_t Frame(std::uint32_t parent, std::uint32_t index) {
    const v1::Frame& frame = profile_.frames(static_cast<int>(index));
    const std::uint32_t child = Child(parent, KindOf(frame.kind()), frame_labels_[index]);
    TreeNode& node = tree_.nodes[child];
    if (node.frame == TreeNode::kNoFrame) {
      node.frame = index;
      node.first_line = node.last_line = frame.line();
    } else if (frame.line() != 0 &&
               profile_.frames(static_cast<int>(node.frame)).file() == frame.file()) {
      node.first_line =
          node.first_line == 0 ? frame.line() : std::min(node.first_line, frame.line());
      node.last_line = std::max(node.last_line, frame.line());
    }
    return child;
  }

  std::uint32_t Child(std::uint32_t parent, NodeKind kind, std::uint32_t label) {
    const auto next = static_cast<std::uint32_t>(tree_.nodes.size());
    const auto [known, added] = children_.emplace(Pair(parent, label), next);
    if (added) tree_.nodes.push_back({.parent = parent, .label = label, .kind = kind});
    return known->second;
  }

  std::uint32_t Label(std::string_view text) {
    const auto next = static_cast<std::uint32_t>(tree_.labels.size());
    const auto [known, added] = label_ids_.emplace(text, next);
    if (added) tree_.labels.emplace_back(text);
    return known->second;
  }

  // Nodes of the profile are numbered from 1.
  const v1::StackNode& Node(std::uint32_t number) const {
    return profile_.nodes(static_cast<int>(number - 1));
  }

  const v1::Profile& profile_;
  const StateFrames states_;
  const StackRoots kind_;
  const PathDetail on_whom_;
  StackTree tree_;
  std::vector<std::uint32_t> frame_labels_;  // by index of the profile's frames
  std::vector<std::uint32_t> roots_;         // by thread or process; 0: not met yet
  ProgramNames programs_;
  std::vector<std::uint32_t> path_;
  std::unordered_map<std::uint64_t, std::uint32_t> placed_;  // (root, profile node) -> node
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t>
      path_ends_;                                              // (state, process, path) -> node
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // (parent, label) -> node
  std::unordered_map<std::string, std::uint32_t> label_ids_;
};

}  // namespace

Result<StackTree> StackTree::Build(const v1::Profile& profile, const ExportOptions& options,
                                   StateFrames states, StackRoots roots) {
  return Builder(profile, options, states, roots).Build();
}

std::vector<std::uint32_t> StackTree::ByName() const {
  return ByWeight(std::vector<std::uint64_t>(nodes.size(), 0));
}

std::vector<std::uint32_t> StackTree::ByWeight(std::span<const std::uint64_t> weights) const {
  std::vector<std::uint32_t> by_name(labels.size());
  std::iota(by_name.begin(), by_name.end(), 0u);
  std::sort(by_name.begin(), by_name.end(),
            [&](std::uint32_t a, std::uint32_t b) { return labels[a] < labels[b]; });
  std::vector<std::uint32_t> rank(labels.size());
  for (std::uint32_t i = 0; i < by_name.size(); ++i) rank[by_name[i]] = i;

  // Children of one parent next to each other, the last first: they leave the stack reversed.
  std::vector<std::uint32_t> siblings(nodes.size() - 1);
  std::iota(siblings.begin(), siblings.end(), 1u);
  std::sort(siblings.begin(), siblings.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (nodes[a].parent != nodes[b].parent) return nodes[a].parent < nodes[b].parent;
    if (weights[a] != weights[b]) return weights[a] < weights[b];
    return rank[nodes[a].label] > rank[nodes[b].label];
  });
  std::vector<std::uint32_t> first_child(nodes.size() + 1, 0);
  for (const std::uint32_t node : siblings) ++first_child[nodes[node].parent + 1];
  std::partial_sum(first_child.begin(), first_child.end(), first_child.begin());

  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> open{0};
  order.reserve(nodes.size());
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    order.push_back(node);
    open.insert(open.end(), siblings.begin() + first_child[node],
                siblings.begin() + first_child[node + 1]);
  }
  return order;
}

}  // namespace profd::client
