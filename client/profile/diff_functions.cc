#include "client/profile/diff_functions.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

namespace profd::client {
namespace {

bool IsState(NodeKind kind) {
  return kind == NodeKind::kRunning || kind == NodeKind::kRunnable || kind == NodeKind::kBlocked;
}

bool IsFunction(NodeKind kind) {
  return kind == NodeKind::kNative || kind == NodeKind::kKernel || kind == NodeKind::kPython ||
         kind == NodeKind::kJit || kind == NodeKind::kPseudo;
}

// "[blocked:lock]" -> "lock".
std::string StateText(std::string_view frame) {
  constexpr std::string_view kBlocked = "blocked:";
  if (frame.size() > 2) frame = frame.substr(1, frame.size() - 2);
  if (frame.starts_with(kBlocked)) frame.remove_prefix(kBlocked.size());
  return std::string(frame);
}

std::uint64_t Size(const DiffTime& time) {
  return static_cast<std::uint64_t>(std::llabs(time.change_ns()));
}

// Adds to the state of that name.
void AddState(std::vector<DiffState>& states, const Diff& diff, const TreeNode& node,
              const DiffTime& time) {
  const std::string name = StateText(diff.tree.labels[node.label]);
  const auto known = std::ranges::find(states, name, &DiffState::name);
  if (known != states.end())
    known->time += time;
  else
    states.push_back({name, node.kind, time});
}

void SortStates(std::vector<DiffState>& states) {
  std::ranges::sort(states, [](const DiffState& a, const DiffState& b) {
    if (a.kind != b.kind) return a.kind < b.kind;
    if (Size(a.time) != Size(b.time)) return Size(a.time) > Size(b.time);
    return a.name < b.name;
  });
}

class Collector {
 public:
  Collector(const Diff& diff, KernelFunctions kernel) : diff_(diff), kernel_(kernel) {}

  std::vector<DiffFunction> Collect() && {
    for (std::uint32_t i = 1; i < diff_.tree.nodes.size(); ++i)
      if (IsState(diff_.tree.nodes[i].kind) && !diff_.self[i].empty()) AddStack(i);
    for (DiffFunction& function : functions_) SortStates(function.states);
    return std::move(functions_);
  }

 private:
  void AddStack(std::uint32_t leaf) {
    const std::vector<TreeNode>& nodes = diff_.tree.nodes;
    path_.clear();
    bool has_user = false;
    for (std::uint32_t i = nodes[leaf].parent; i != 0; i = nodes[i].parent) {
      if (!IsFunction(nodes[i].kind)) continue;
      path_.push_back(i);
      has_user =
          has_user || (nodes[i].kind != NodeKind::kKernel && nodes[i].kind != NodeKind::kPseudo);
    }
    ++stack_;
    bool is_last = true;
    for (const std::uint32_t i : path_) {
      if (kernel_ == KernelFunctions::kPartOfCaller && has_user &&
          nodes[i].kind == NodeKind::kKernel)
        continue;
      const std::size_t function = Function(nodes[i]);
      if (is_last) functions_[function].self += diff_.self[leaf];
      is_last = false;
      if (seen_[function] == stack_) continue;  // a recursion
      seen_[function] = stack_;
      functions_[function].total += diff_.self[leaf];
      AddState(functions_[function].states, diff_, nodes[leaf], diff_.self[leaf]);
    }
  }

  std::size_t Function(const TreeNode& node) {
    const auto [known, added] = by_label_.emplace(node.label, functions_.size());
    if (added) {
      functions_.push_back({diff_.tree.labels[node.label], node.kind, {}, {}, {}});
      seen_.push_back(0);
    }
    return known->second;
  }

  const Diff& diff_;
  const KernelFunctions kernel_;
  std::vector<DiffFunction> functions_;
  std::vector<std::uint64_t> seen_;  // by function: the last stack it was in
  std::uint64_t stack_ = 0;
  std::unordered_map<std::uint32_t, std::size_t> by_label_;
  std::vector<std::uint32_t> path_;
};

}  // namespace

std::vector<DiffState> DiffStates(const Diff& diff) {
  std::vector<DiffState> states;
  for (std::size_t i = 0; i < diff.tree.nodes.size(); ++i)
    if (IsState(diff.tree.nodes[i].kind) && !diff.self[i].empty())
      AddState(states, diff, diff.tree.nodes[i], diff.self[i]);
  SortStates(states);
  return states;
}

std::vector<DiffFunction> DiffFunctions(const Diff& diff, KernelFunctions kernel) {
  std::vector<DiffFunction> functions = Collector(diff, kernel).Collect();
  std::ranges::sort(functions, [](const DiffFunction& a, const DiffFunction& b) {
    if (Size(a.total) != Size(b.total)) return Size(a.total) > Size(b.total);
    if (Size(a.self) != Size(b.self)) return Size(a.self) > Size(b.self);
    return a.name < b.name;
  });
  return functions;
}

}  // namespace profd::client
