#include "client/profile/report/call_tree.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/profile/report/frame_places.h"
#include "client/profile/report/report_axis.h"
#include "client/profile/report/shown_stacks.h"
#include "client/profile/report/tree_builder.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

constexpr std::uint32_t kNone = ReportAxis::kNone;

Error TooMany() {
  return Error{ErrorCode::kExhausted, "the profile has too many distinct stacks",
               "take a part of it with --filter"};
}

// Frames as steps of a tree: what they are called, and the package of those that are of a library.
class Steps {
 public:
  Steps(const v1::Profile& profile, const TableOptions& options)
      : profile_(profile), stacks_(profile, options.kernel), style_(options.style) {
    by_frame_.resize(static_cast<std::size_t>(profile.frames_size()), kNone);
    groups_.resize(by_frame_.size(), kNone);
  }

  [[nodiscard]] const ShownStacks& stacks() const { return stacks_; }
  [[nodiscard]] const std::vector<std::string>& labels() const { return labels_; }

  std::uint32_t Label(std::string text) {
    const auto next = static_cast<std::uint32_t>(labels_.size());
    const auto [known, added] = ids_.emplace(std::move(text), next);
    if (added) labels_.push_back(known->first);
    return known->second;
  }

  std::uint32_t Function(std::uint32_t frame) {
    std::uint32_t& label = by_frame_[frame];
    if (label == kNone) label = Label(FrameName(profile_.frames(static_cast<int>(frame)), style_));
    return label;
  }

  // Frames that are not of the program itself get a group: their package.
  void FindGroups() {
    std::unordered_set<std::string> programs;
    for (const v1::Process& process : profile_.processes())
      if (process.python().empty()) programs.insert(process.executable());
    for (int i = 0; i < profile_.frames_size(); ++i) {
      const v1::Frame& frame = profile_.frames(i);
      if (IsOwn(frame, programs)) continue;
      // A function may be called as a package is.
      const auto next = static_cast<std::uint32_t>(labels_.size());
      const auto [known, added] = packages_.emplace(PackageText(frame), next);
      if (added) labels_.push_back(known->first);
      groups_[static_cast<std::size_t>(i)] = known->second;
    }
  }

  // A frame as a step: itself, or its group.
  TreeStep StepOf(std::uint32_t frame) {
    const std::uint32_t group = groups_[frame];
    if (group == kNone) return {Function(frame)};
    return {group, Function(frame)};
  }

 private:
  static bool IsOwn(const v1::Frame& frame, const std::unordered_set<std::string>& programs) {
    switch (frame.kind()) {
      case v1::FRAME_PYTHON:
        return !PythonPlaceOf(frame.file()).library;
      case v1::FRAME_NATIVE:
        return programs.contains(frame.module());
      case v1::FRAME_KERNEL:
        return false;
      default:
        return true;
    }
  }

  const v1::Profile& profile_;
  const ShownStacks stacks_;
  const FrameStyle style_;
  std::vector<std::string> labels_;
  std::unordered_map<std::string, std::uint32_t> ids_;
  std::unordered_map<std::string, std::uint32_t> packages_;
  std::vector<std::uint32_t> by_frame_;
  std::vector<std::uint32_t> groups_;  // by frame: the label of its group, or kNone
};

enum class Side { kCallers, kCallees };

Result<CallTree> SideOf(Side side, std::string_view function, const v1::Profile& profile,
                        const TableOptions& options) {
  std::vector<bool> called;
  for (const v1::Frame& frame : profile.frames()) called.push_back(IsFunction(frame, function));
  const auto first = std::ranges::find(called, true);
  if (first == called.end()) return NoSuchFunction(profile, function);
  Steps steps(profile, options);
  const ShownStacks& stacks = steps.stacks();
  std::unordered_map<std::uint32_t, ReportTime> times;  // by shown leaf
  CallTree tree;
  for (int i = 0; i < profile.samples().weight_ns_size(); ++i) {
    times[stacks.Leaf(profile.samples().node(i))].Add(profile, i);
    tree.all_ns += profile.samples().weight_ns(i);
  }
  TreeBuilder builder(TreeOrder::kMerged);
  bool any = false;
  std::vector<TreeStep> path;
  for (const auto& [leaf, time] : times) {
    // Inwards from the innermost one: what lies before it, reversed. Outwards from the outermost
    // one: what lies behind it.
    path.clear();
    bool found = false;
    for (std::uint32_t node = leaf; node != 0; node = stacks.Parent(node)) {
      const std::uint32_t frame = stacks.Frame(node);
      if (called[frame]) {
        found = true;
        if (side == Side::kCallees) break;
        path.clear();
        continue;
      }
      path.push_back({steps.Function(frame)});
    }
    if (!found) continue;
    any = true;
    if (side == Side::kCallees) std::ranges::reverse(path);
    std::uint32_t node = 0;
    for (const TreeStep& step : path) node = builder.Child(node, step);
    builder.AddSelf(node, time);
    if (builder.size() > CallTree::kMaxNodes) return TooMany();
  }
  if (!any) return NoSuchFunction(profile, function);
  const std::uint64_t all_ns = tree.all_ns;
  const auto frame = static_cast<std::uint32_t>(first - called.begin());
  const std::string root = steps.labels()[steps.Function(frame)];
  tree = std::move(builder).Take(steps.labels(), steps.labels(), root);
  tree.all_ns = all_ns;
  tree.outwards = side == Side::kCallers;
  return tree;
}

// The places of stacks in the tree of a program.
class Places {
 public:
  Places(const v1::Profile& profile, Steps& steps, TreeOrder order)
      : profile_(profile),
        steps_(steps),
        timeline_(order == TreeOrder::kTimeline),
        processes_(profile.processes_size() > 1),
        programs_(profile),
        builder_(order) {}

  // False: there are too many nodes.
  [[nodiscard]] bool Add(int sample) {
    const std::uint32_t leaf = steps_.stacks().Leaf(profile_.samples().node(sample));
    const std::uint32_t root = Root(profile_.samples().thread(sample));
    ReportTime time;
    time.Add(profile_, sample);
    builder_.AddSelf(timeline_ ? Walk(root, leaf) : Placed(root, leaf), time);
    return builder_.size() <= CallTree::kMaxNodes;
  }

  [[nodiscard]] CallTree Take() && {
    return std::move(builder_).Take(steps_.labels(), steps_.labels(), "all");
  }

 private:
  std::uint32_t Root(std::uint32_t thread) {
    if (!processes_ && !timeline_) return 0;
    const auto known = roots_.find(thread);
    if (known != roots_.end()) return known->second;
    const v1::Thread& of = profile_.threads(static_cast<int>(thread));
    std::uint32_t root = 0;
    if (processes_) {
      const v1::Process& process = profile_.processes(static_cast<int>(of.process()));
      // In order of time each process is its own.
      root = builder_.Child(
          0, {steps_.Label(timeline_ ? ProcessName(process) : programs_.Of(process))});
    }
    if (timeline_) root = builder_.Child(root, {steps_.Label(ThreadName(of))});
    roots_.emplace(thread, root);
    return root;
  }

  // Of a stack without the frames that it shares with one that has a place.
  std::uint32_t Placed(std::uint32_t root, std::uint32_t leaf) {
    if (leaf == 0) return builder_.Child(root, {steps_.Label(std::string(kNoStack))});
    path_.clear();
    std::uint32_t place = root;
    for (std::uint32_t node = leaf; node != 0; node = steps_.stacks().Parent(node)) {
      const std::uint32_t known = PlaceOf(root, node);
      if (known != kNone) {
        place = known;
        break;
      }
      path_.push_back(node);
    }
    for (const std::uint32_t node : std::views::reverse(path_)) {
      place = builder_.Child(place, steps_.StepOf(steps_.stacks().Frame(node)));
      PlaceOf(root, node) = place;
    }
    return place;
  }

  std::uint32_t& PlaceOf(std::uint32_t root, std::uint32_t node) {
    if (processes_)
      return places_.try_emplace(std::uint64_t{root} << 32 | node, kNone).first->second;
    if (only_places_.empty()) only_places_.resize(steps_.stacks().size(), kNone);
    return only_places_[node];
  }

  std::uint32_t Walk(std::uint32_t root, std::uint32_t leaf) {
    if (leaf == 0) return builder_.Child(root, {steps_.Label(std::string(kNoStack))});
    path_.clear();
    for (std::uint32_t node = leaf; node != 0; node = steps_.stacks().Parent(node))
      path_.push_back(node);
    std::uint32_t place = root;
    for (const std::uint32_t node : std::views::reverse(path_))
      place = builder_.Child(place, steps_.StepOf(steps_.stacks().Frame(node)));
    return place;
  }

  const v1::Profile& profile_;
  Steps& steps_;
  const bool timeline_;
  const bool processes_;
  ProgramNames programs_;
  TreeBuilder builder_;
  std::unordered_map<std::uint32_t, std::uint32_t> roots_;   // by thread
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  // (root, profile node) -> node
  std::vector<std::uint32_t> only_places_;                   // the same of one process
  std::vector<std::uint32_t> path_;
};

}  // namespace

Result<CallTree> CallersOf(std::string_view function, const v1::Profile& profile,
                           const TableOptions& options) {
  return SideOf(Side::kCallers, function, profile, options);
}

Result<CallTree> CalleesOf(std::string_view function, const v1::Profile& profile,
                           const TableOptions& options) {
  return SideOf(Side::kCallees, function, profile, options);
}

Result<CallTree> ProgramTree(const v1::Profile& profile, TreeOrder order,
                             const TableOptions& options) {
  const bool timeline = order == TreeOrder::kTimeline;
  if (timeline && !HasSampleTimes(profile))
    return Error{ErrorCode::kUnsupported,
                 "--timeline: the profile has no time for each sample: they are sums of one stack",
                 "without it calls are merged"};
  Steps steps(profile, options);
  steps.FindGroups();
  Places places(profile, steps, order);
  const v1::Samples& samples = profile.samples();
  std::uint64_t all_ns = 0;
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    all_ns += samples.weight_ns(i);
    if (!places.Add(i)) return TooMany();
  }
  CallTree tree = std::move(places).Take();
  tree.all_ns = all_ns;
  return tree;
}

}  // namespace profd::client
