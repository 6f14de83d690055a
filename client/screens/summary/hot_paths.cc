#include "client/screens/summary/hot_paths.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string_view>
#include <tuple>

#include "client/screens/summary/path_tree.h"
#include "client/text/text.h"

namespace profd::client {
namespace {

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
  std::tie(path.state, path.wait) = tree.StateOf(part.node);
  path.ns = part.weight.ns;
  path.points = part.weight.points;
  path.exact_ns = part.weight.exact_ns;
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
  return name.starts_with("__libc_start_main") || name.starts_with("[unknown libc.so");
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

// The last frame that all paths with a stack share.
std::size_t CommonFork(const std::vector<HotPath>& paths) {
  std::size_t common = 0;
  const std::vector<std::string>* some = nullptr;
  for (const HotPath& path : paths) {
    if (path.frames.empty()) continue;
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
  // Less and less of the middle, with two callers as long as that works.
  for (const std::size_t head : {2u, 1u}) {
    if (head >= frames.size()) continue;
    for (std::size_t tail = frames.size() - head; tail > 0; --tail) {
      text = Join(frames, head, tail, end);
      if (fits(text)) return text;
    }
  }
  const std::string innermost = frames.back() + end;
  if (frames.size() == 1) return CutMiddle(innermost, width);
  const std::string dots = std::string(kGap) + std::string(kArrow);
  return dots + CutMiddle(innermost, width > dots.size() ? width - dots.size() : 0);
}

}  // namespace profd::client
