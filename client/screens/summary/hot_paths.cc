#include "client/screens/summary/hot_paths.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <optional>
#include <ranges>
#include <string_view>
#include <utility>

#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/text/text.h"

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

// Time in the stacks that go through a place in the tree.
struct PathWeight {
  std::uint64_t ns = 0;
  std::uint64_t points = 0;
  std::uint64_t exact_ns = 0;
  ErrorSum error;

  PathWeight& operator+=(const PathWeight& other);
  PathWeight& operator-=(const PathWeight& other);
};

struct PathState {
  v1::State state = v1::STATE_ON_CPU;
  v1::WaitReason wait = v1::WAIT_NONE;
  bool spinning = false;
};

// Stacks with equal names merged into a tree, by state and wait reason. Grows by Add; nodes are
// numbered, 0 is the root, its children are one for each state and reason. Differs from the
// profile's own tree in that frames are equal when their names are.
class PathTree {
 public:
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t name = 0;
    PathWeight weight;  // of the node and all below it
    std::vector<std::uint32_t> children;
  };

  // The profile must have passed CheckProfile and outlive the tree.
  explicit PathTree(const v1::Profile& profile);
  // Adds sample number `index`.
  void Add(int index);
  // Adds a stack that ends at `leaf`.
  void AddStack(std::uint32_t leaf, const PathState& state, const PathWeight& weight);

  [[nodiscard]] const Node& node(std::uint32_t index) const { return nodes_[index]; }
  [[nodiscard]] const std::string& NameOf(std::uint32_t node) const;
  [[nodiscard]] bool IsPython(std::uint32_t node) const;
  // Of the state node above `node`.
  [[nodiscard]] const PathState& StateOf(std::uint32_t node) const;

 private:
  std::uint32_t Intern(std::string name);
  std::uint32_t Child(std::uint32_t parent, std::uint32_t name);
  std::vector<std::uint32_t> NamesOfStack(std::uint32_t leaf, v1::State state);

  const v1::Profile& profile_;
  const ShareError error_;
  std::vector<std::uint32_t> frame_names_;  // by index into Profile.frames
  std::vector<std::string> names_;
  std::vector<bool> python_names_;  // by number of the name
  std::map<std::string, std::uint32_t, std::less<>> name_ids_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> edges_;
  std::map<std::uint32_t, PathState> states_;  // by state node
};

PathWeight& PathWeight::operator+=(const PathWeight& other) {
  ns += other.ns;
  points += other.points;
  exact_ns += other.exact_ns;
  error += other.error;
  return *this;
}

PathWeight& PathWeight::operator-=(const PathWeight& other) {
  ns -= other.ns;
  points -= other.points;
  exact_ns -= other.exact_ns;
  error -= other.error;
  return *this;
}

PathTree::PathTree(const v1::Profile& profile) : profile_(profile), error_(profile), nodes_(1) {
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

const PathState& PathTree::StateOf(std::uint32_t node) const {
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
  PathWeight weight{.ns = samples.weight_ns(index),
                    .points = samples.count(index),
                    .exact_ns = samples.exact(index) ? samples.weight_ns(index) : 0,
                    .error = {}};
  error_.Add(index, weight.error);
  const v1::State state = samples.state(index);
  const v1::WaitReason wait = state == v1::STATE_BLOCKED ? samples.wait(index) : v1::WAIT_NONE;
  const bool spinning = IsSpinning(profile_, index);
  // What it calls to spin is no place that a reader looks for.
  AddStack(spinning ? samples.rule_node(index) : samples.node(index), {state, wait, spinning},
           weight);
}

void PathTree::AddStack(std::uint32_t leaf, const PathState& state, const PathWeight& weight) {
  const auto state_name =
      Intern(std::string(StateFrameName(state.state, state.wait, v1::GIL_NONE, state.spinning)));
  std::uint32_t node = Child(0, state_name);
  states_.try_emplace(node, state);
  nodes_[node].weight += weight;
  for (const std::uint32_t name : NamesOfStack(leaf, state.state)) {
    node = Child(node, name);
    nodes_[node].weight += weight;
  }
}

constexpr std::string_view kArrow = " > ";
constexpr std::string_view kGap = "...";

// A part of the cut through the tree: the time of `node` without that of children that have become
// parts of their own.
struct Part {
  std::uint32_t node = 0;
  PathWeight weight;
  bool done = false;  // nothing more to take out
};

// Down as long as nearly all of the time goes one way.
std::uint32_t Descend(const PathTree& tree, std::uint32_t node) {
  while (true) {
    const auto& children = tree.node(node).children;
    const auto heaviest = std::ranges::max_element(
        children, {}, [&](std::uint32_t child) { return tree.node(child).weight.ns; });
    if (heaviest == children.end()) return node;
    const std::uint64_t ns = tree.node(node).weight.ns;
    if (tree.node(*heaviest).weight.ns < ns - ns / 10) return node;
    node = *heaviest;
  }
}

class Cut {
 public:
  Cut(const PathTree& tree, std::uint64_t smallest_ns) : tree_(tree), smallest_ns_(smallest_ns) {
    for (const std::uint32_t state : tree.node(0).children) Put(state);
  }

  // Takes the heaviest part that can be taken apart; false when none can within `limit` parts.
  bool Split(std::size_t limit) {
    std::ranges::stable_sort(parts_, std::greater<>{}, [](const Part& p) { return p.weight.ns; });
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].done) continue;
      parts_[i].done = true;
      std::vector<std::uint32_t> heavy;
      PathWeight rest = parts_[i].weight;
      for (const std::uint32_t child : tree_.node(parts_[i].node).children) {
        if (tree_.node(child).weight.ns < Threshold(parts_[i])) continue;
        heavy.push_back(child);
        rest -= tree_.node(child).weight;
      }
      const bool keep_rest = rest.ns >= smallest_ns_;
      if (heavy.empty() || parts_.size() - 1 + heavy.size() + (keep_rest ? 1 : 0) > limit) continue;
      parts_[i].weight = rest;
      if (!keep_rest) parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
      for (const std::uint32_t child : heavy) Put(child);
      return true;
    }
    return false;
  }

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }

 private:
  // A child that holds little of its parent's time is not worth a line of its own.
  [[nodiscard]] std::uint64_t Threshold(const Part& part) const {
    return std::max(smallest_ns_, part.weight.ns / 8);
  }

  void Put(std::uint32_t node) {
    const PathWeight& weight = tree_.node(node).weight;
    if (weight.ns < smallest_ns_) return;
    parts_.push_back(Part{Descend(tree_, node), weight, false});
  }

  const PathTree& tree_;
  const std::uint64_t smallest_ns_;
  std::vector<Part> parts_;
};

HotPath ToHotPath(const PathTree& tree, const Part& part) {
  HotPath path;
  const PathState& state = tree.StateOf(part.node);
  path.state = state.state;
  path.wait = state.wait;
  path.spinning = state.spinning;
  path.ns = part.weight.ns;
  path.points = part.weight.points;
  path.exact_ns = part.weight.exact_ns;
  path.error = part.weight.error;
  std::uint64_t own_ns = tree.node(part.node).weight.ns;
  for (const std::uint32_t child : tree.node(part.node).children)
    own_ns -= tree.node(child).weight.ns;
  path.goes_on = own_ns < part.weight.ns / 2;
  std::vector<std::uint32_t> names;  // leaf first
  for (std::uint32_t node = part.node; tree.node(node).parent != 0; node = tree.node(node).parent)
    names.push_back(node);
  for (const std::uint32_t node : std::views::reverse(names)) {
    path.frames.push_back(tree.NameOf(node));
    path.python.push_back(tree.IsPython(node));
  }
  return path;
}

bool IsStart(std::string_view name) {
  constexpr std::array<std::string_view, 10> kStarts{"_start",
                                                     "__libc_start_main",
                                                     "__libc_start_call_main",
                                                     "clone",
                                                     "clone3",
                                                     "__clone",
                                                     "__clone3",
                                                     "start_thread",
                                                     "execute_native_thread_routine",
                                                     "call_init"};
  if (std::ranges::find(kStarts, name) != kStarts.end()) return true;
  // Stripped, as most are.
  return name.starts_with("__libc_start_main") || name.starts_with("[unknown libc.so") ||
         name.starts_with("libc.so.6!fn_");
}

// "std::vector<int, std::allocator<int> >::at" -> "std::vector<...>::at". Operators whose names
// hold angle brackets and names that do not balance stay as they are.
std::string WithoutTemplateArguments(const std::string& name) {
  constexpr std::size_t kLong = 32;
  if (name.size() <= kLong || name.find("operator") != std::string::npos) return name;
  std::string result;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' && depth++ == 0) result += "<...>";
    if (c != '<' && c != '>' && depth == 0) result.push_back(c);
    if (c == '>' && --depth < 0) return name;
  }
  return depth == 0 ? result : name;
}

struct ShownPath {
  std::vector<std::string> frames;
  std::size_t fork = 0;
  std::optional<std::size_t> innermost_python;
};

ShownPath Shorten(const HotPath& path) {
  ShownPath shown;
  std::size_t first = 0;
  while (first + 1 < path.frames.size() && IsStart(path.frames[first])) ++first;
  for (std::size_t i = first; i < path.frames.size(); ++i) {
    const bool python = i < path.python.size() && path.python[i];
    std::string name = python ? path.frames[i] : WithoutTemplateArguments(path.frames[i]);
    // Recursion is one frame here.
    if (shown.frames.empty() || shown.frames.back() != name)
      shown.frames.push_back(std::move(name));
    if (i <= path.fork) shown.fork = shown.frames.size() - 1;
    if (python) shown.innermost_python = shown.frames.size() - 1;
  }
  return shown;
}

// From the fork on, without what libraries call inside themselves: names that C reserves for them.
ShownPath WithoutInternals(const ShownPath& path) {
  ShownPath shown;
  for (std::size_t i = path.fork; i < path.frames.size(); ++i) {
    const bool python = path.innermost_python && i <= *path.innermost_python;
    if (!python && i > path.fork && i + 1 < path.frames.size() && path.frames[i].starts_with("__"))
      continue;
    shown.frames.push_back(path.frames[i]);
    if (path.innermost_python == i) shown.innermost_python = shown.frames.size() - 1;
  }
  return shown;
}

// Frames [0, head) of `frames`, then the last `tail`, then `end`.
std::string Join(std::span<const std::string> frames, std::size_t head, std::size_t tail,
                 const std::string& end) {
  std::string text;
  const auto add = [&](std::string_view frame) {
    text += (text.empty() ? "" : std::string(kArrow)) + std::string(frame);
  };
  for (const std::string& frame : frames.first(head)) add(frame);
  if (head + tail < frames.size()) add(kGap);
  for (const std::string& frame : frames.last(tail)) add(frame);
  return text + end;
}

// The last frame that all paths with a stack share. One alone parts from none.
std::size_t CommonFork(const std::vector<HotPath>& paths) {
  const auto has_stack = [](const HotPath& path) { return !path.frames.empty(); };
  if (std::ranges::count_if(paths, has_stack) < 2) return 0;
  std::size_t common = 0;
  const std::vector<std::string>* some = nullptr;
  for (const HotPath& path : paths) {
    if (!has_stack(path)) continue;
    if (some == nullptr) {
      some = &path.frames;
      common = path.frames.size();
    }
    const auto [differs, other] = std::ranges::mismatch(*some, path.frames);
    common = std::min(common, static_cast<std::size_t>(differs - some->begin()));
  }
  return common == 0 ? 0 : common - 1;
}

}  // namespace

std::vector<HotPath> HotPaths(const v1::Profile& profile, std::span<const std::uint32_t> threads,
                              std::size_t limit) {
  PathTree tree(profile);
  std::vector<bool> wanted(static_cast<std::size_t>(profile.threads_size()), false);
  for (const std::uint32_t thread : threads) wanted[thread] = true;
  std::uint64_t total_ns = 0;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    if (!wanted[profile.samples().thread(i)]) continue;
    tree.Add(i);
    total_ns += profile.samples().weight_ns(i);
  }
  Cut cut(tree, total_ns / 100 + 1);
  while (cut.Split(limit)) {
  }
  std::vector<HotPath> paths;
  for (const Part& part : cut.parts()) paths.push_back(ToHotPath(tree, part));
  std::ranges::stable_sort(paths, std::greater<>{}, &HotPath::ns);
  if (paths.size() > limit) paths.resize(limit);
  const std::size_t fork = CommonFork(paths);
  for (HotPath& path : paths) path.fork = fork;
  return paths;
}

HotPath CommonPath(const v1::Profile& profile, std::span<const WhomRow::Stack> stacks) {
  PathTree tree(profile);
  for (const WhomRow::Stack& stack : stacks)
    tree.AddStack(stack.node, {stack.state, stack.wait, false}, {stack.ns, 0, 0, {}});
  const Cut cut(tree, 1);
  const auto heaviest =
      std::ranges::max_element(cut.parts(), {}, [](const Part& part) { return part.weight.ns; });
  if (heaviest == cut.parts().end()) return {};
  // On, as long as half of it goes one way: one name is wanted, and not a caller of everything.
  Part part = *heaviest;
  while (true) {
    const auto& children = tree.node(part.node).children;
    const auto next = std::ranges::max_element(
        children, {}, [&](std::uint32_t child) { return tree.node(child).weight.ns; });
    if (next == children.end() || tree.node(*next).weight.ns * 2 < part.weight.ns) break;
    part.node = *next;
  }
  return ToHotPath(tree, part);
}

std::string PathText(const HotPath& path, std::size_t width) {
  const ShownPath shown = Shorten(path);
  if (shown.frames.empty()) return CutMiddle(path.goes_on ? "(various)" : "(no stack)", width);
  const std::string end = path.goes_on ? std::string(kArrow) + std::string(kGap) : "";
  const auto fits = [&](const std::string& text) { return DisplayWidth(text) <= width; };
  std::string text = Join(shown.frames, shown.frames.size(), 0, end);
  if (fits(text)) return text;
  const ShownPath outline = WithoutInternals(shown);
  const std::span<const std::string> frames = outline.frames;
  text = Join(frames, frames.size(), 0, end);
  if (fits(text)) return text;
  // Of what Python has called, the innermost call is what its author knows.
  if (outline.innermost_python && *outline.innermost_python + 1 < frames.size()) {
    for (std::size_t head = *outline.innermost_python + 1; head > 0; --head) {
      const auto rest = frames.subspan(*outline.innermost_python + 1 - head);
      for (std::size_t tail = rest.size() - head; tail > 0; --tail) {
        text = Join(rest, head, tail, end);
        if (fits(text)) return text;
      }
    }
  }
  // As little as possible of the middle goes, and rather the second caller than what calls last.
  std::string best;
  std::size_t most = 0;
  for (const std::size_t head : {1u, 2u}) {
    for (std::size_t tail = frames.size() - std::min(head, frames.size()); tail > 0; --tail) {
      text = Join(frames, head, tail, end);
      if (!fits(text)) continue;
      if (head + tail > most) best = text;
      most = std::max(most, head + tail);
      break;
    }
  }
  if (most > 0) return best;
  const std::string innermost = frames.back() + end;
  if (frames.size() == 1) return CutMiddle(innermost, width);
  const std::string dots = std::string(kGap) + std::string(kArrow);
  return dots + CutMiddle(innermost, width > dots.size() ? width - dots.size() : 0);
}

}  // namespace profd::client
