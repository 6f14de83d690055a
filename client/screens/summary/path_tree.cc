#include "client/screens/summary/path_tree.h"

#include <algorithm>
#include <array>

#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

bool StartsWithAny(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](auto start) { return name.starts_with(start); });
}

// How the kernel was entered says nothing of what it does, nor does schedule() of why it waits.
bool IsPlumbing(std::string_view name, bool waits) {
  if (StartsWithAny(name, {"entry_", "do_syscall_", "x64_sys_call", "asm_", "ret_from_fork",
                           "do_int80", "__do_fast_syscall"}))
    return true;
  return name == "kthread" ||
         (waits && StartsWithAny(name, {"schedule", "__schedule", "preempt_schedule", "irqentry_",
                                        "sysvec_", "exit_to_user_mode", "syscall_exit_to_user"}));
}

// "__x64_sys_futex" -> "futex"; empty when it is no system call.
std::string_view SystemCall(std::string_view name) {
  for (const std::string_view start :
       {"__x64_sys_", "__ia32_sys_", "__arm64_sys_", "__se_sys_", "__do_sys_"})
    if (name.starts_with(start)) return name.substr(start.size());
  return {};
}

std::string SummaryName(const v1::Frame& frame) {
  if (frame.kind() == v1::FRAME_KERNEL) {
    const std::string_view call = SystemCall(frame.name());
    if (!call.empty()) return SafeName(call);
  }
  if (frame.name().empty() && !frame.module().empty()) {
    // Places without a name in one module are one place here: an offset means nothing to a reader.
    return "[unknown " + SafeName(ModuleName(frame)) + "]";
  }
  return FrameName(frame, {.signature = false, .place = true, .suffixes = false});
}

}  // namespace

PathWeight& PathWeight::operator+=(const PathWeight& other) {
  ns += other.ns;
  points += other.points;
  exact_ns += other.exact_ns;
  return *this;
}

PathWeight& PathWeight::operator-=(const PathWeight& other) {
  ns -= other.ns;
  points -= other.points;
  exact_ns -= other.exact_ns;
  return *this;
}

PathTree::PathTree(const v1::Profile& profile) : profile_(profile), nodes_(1) {
  Intern("");
  frame_names_.reserve(static_cast<std::size_t>(profile.frames_size()));
  for (const v1::Frame& frame : profile.frames()) {
    const std::uint32_t name = Intern(SummaryName(frame));
    frame_names_.push_back(name);
    if (frame.kind() == v1::FRAME_PYTHON) python_names_[name] = true;
  }
}

const std::string& PathTree::NameOf(std::uint32_t node) const { return names_[nodes_[node].name]; }

bool PathTree::IsPython(std::uint32_t node) const { return python_names_[nodes_[node].name]; }

std::pair<v1::State, v1::WaitReason> PathTree::StateOf(std::uint32_t node) const {
  while (nodes_[node].parent != 0) node = nodes_[node].parent;
  return states_.at(node);
}

std::uint32_t PathTree::Intern(std::string name) {
  const auto [at, is_new] =
      name_ids_.try_emplace(std::move(name), static_cast<std::uint32_t>(names_.size()));
  if (is_new) {
    names_.push_back(at->first);
    python_names_.push_back(false);
  }
  return at->second;
}

std::uint32_t PathTree::Child(std::uint32_t parent, std::uint32_t name) {
  const auto [at, is_new] =
      edges_.try_emplace({parent, name}, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_[parent].children.push_back(at->second);
    nodes_.push_back(Node{parent, name, {}, {}});
  }
  return at->second;
}

std::vector<std::uint32_t> PathTree::NamesOfStack(std::uint32_t leaf, v1::State state) {
  const bool waits = state != v1::STATE_ON_CPU;
  std::vector<std::uint32_t> names;  // leaf first
  bool in_kernel = false;            // the name found last is a kernel frame's
  for (std::uint32_t node = leaf; node != 0;) {
    const v1::StackNode& place = profile_.nodes(static_cast<int>(node) - 1);
    const v1::Frame& frame = profile_.frames(static_cast<int>(place.frame()));
    node = place.parent();
    if (frame.kind() == v1::FRAME_KERNEL) {
      if (IsPlumbing(frame.name(), waits)) continue;
      // All waiting ends in schedule(): of a thread that waits, the call it made is of interest.
      if (waits && !names.empty() && in_kernel) names.pop_back();
    }
    in_kernel = frame.kind() == v1::FRAME_KERNEL;
    names.push_back(frame_names_[place.frame()]);
  }
  std::ranges::reverse(names);
  return names;
}

void PathTree::Add(int index) {
  const v1::Samples& samples = profile_.samples();
  const PathWeight weight{samples.weight_ns(index), samples.count(index),
                          samples.exact(index) ? samples.weight_ns(index) : 0};
  const v1::State state = samples.state(index);
  const v1::WaitReason wait = state == v1::STATE_BLOCKED ? samples.wait(index) : v1::WAIT_NONE;
  const auto state_name = Intern(std::string(StateFrameName(state, wait)));
  std::uint32_t node = Child(0, state_name);
  states_.try_emplace(node, state, wait);
  nodes_[node].weight += weight;
  for (const std::uint32_t name : NamesOfStack(samples.node(index), state)) {
    node = Child(node, name);
    nodes_[node].weight += weight;
  }
}

}  // namespace profd::client
