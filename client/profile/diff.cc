#include "client/profile/diff.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_names.h"

namespace profd::client {
namespace {

__extension__ using Wide = unsigned __int128;

// What two samplings of the same may differ by once in 20 comparisons.
constexpr double kTail = 0.05;
constexpr double kLeastQuantile = 1.95;  // of any number of degrees, for this tail
constexpr double kManyDegrees = 60;      // as good as all

DiffSide SideOf(const v1::Profile& profile, const std::string& name) {
  DiffSide side;
  side.name = SafeName(name);
  side.title = TitleOf(profile);
  side.elapsed_ns = LengthNs(profile);
  side.start_unix_ns = profile.start_unix_ns();
  side.threads = ThreadCount(profile);
  side.samples = SampleCount(profile);
  side.lost = SumOf(profile.lost());
  return side;
}

std::string_view ModeText(Mode mode) {
  switch (mode) {
    case Mode::kOnCpu:
      return "time on a CPU";
    case Mode::kOffCpu:
      return "time spent waiting";
    default:
      return "all time";
  }
}

// Puts the nodes of further trees among those of the first.
class Union {
 public:
  explicit Union(StackTree first) : tree_(std::move(first)) {
    for (std::uint32_t i = 0; i < tree_.labels.size(); ++i) label_ids_.emplace(tree_.labels[i], i);
    for (std::uint32_t i = 1; i < tree_.nodes.size(); ++i)
      children_.emplace(Key(tree_.nodes[i].parent, tree_.nodes[i].label), i);
    if (const std::vector<std::uint32_t> roots = Roots(tree_); roots.size() == 1)
      only_root_ = roots.front();
  }

  // The node of the union for each of `other`.
  std::vector<std::uint32_t> Add(const StackTree& other) {
    std::vector<std::uint32_t> places(other.nodes.size(), 0);
    const bool one_root = only_root_ != 0 && Roots(other).size() == 1;
    for (std::size_t i = 1; i < other.nodes.size(); ++i) {
      const TreeNode& node = other.nodes[i];
      places[i] = one_root && node.parent == 0
                      ? only_root_
                      : Child(places[node.parent], node, other.labels[node.label]);
    }
    return places;
  }
  [[nodiscard]] StackTree Take() && { return std::move(tree_); }

 private:
  static std::uint64_t Key(std::uint32_t parent, std::uint32_t label) {
    return static_cast<std::uint64_t>(parent) << 32 | label;
  }
  static std::vector<std::uint32_t> Roots(const StackTree& tree) {
    std::vector<std::uint32_t> roots;
    for (std::uint32_t i = 1; i < tree.nodes.size(); ++i)
      if (tree.nodes[i].parent == 0) roots.push_back(i);
    return roots;
  }
  std::uint32_t Child(std::uint32_t parent, const TreeNode& node, const std::string& name) {
    const auto next_label = static_cast<std::uint32_t>(tree_.labels.size());
    const auto [label, new_label] = label_ids_.emplace(name, next_label);
    if (new_label) tree_.labels.push_back(name);
    const auto next = static_cast<std::uint32_t>(tree_.nodes.size());
    const auto [child, added] = children_.emplace(Key(parent, label->second), next);
    if (added) {
      tree_.nodes.push_back(node);
      tree_.nodes.back().parent = parent;
      tree_.nodes.back().label = label->second;
    }
    return child->second;
  }

  StackTree tree_;
  std::uint32_t only_root_ = 0;
  std::unordered_map<std::string, std::uint32_t> label_ids_;
  std::unordered_map<std::uint64_t, std::uint32_t> children_;  // by parent and label
};

Result<StackTree> TreeOf(const v1::Profile& profile, const DiffOptions& options) {
  PROFD_TRY(CheckProfile(profile));
  return StackTree::Build(profile,
                          {.signatures = options.signatures,
                           .mangled = options.mangled,
                           .lines = false,
                           .on_whom = options.on_whom},
                          StateFrames::kAll,
                          options.threads ? StackRoots::kThreadNames : StackRoots::kNames);
}

void SumUp(Diff& diff) {
  diff.total = diff.self;
  for (std::size_t i = diff.total.size(); i-- > 1;)
    diff.total[diff.tree.nodes[i].parent] += diff.total[i];
  diff.a.total_ns = diff.total[0].a_ns;
  diff.b.total_ns = diff.total[0].b_ns;
}

bool IsState(NodeKind kind) {
  return kind == NodeKind::kWorking || kind == NodeKind::kSpinning || kind == NodeKind::kRunnable ||
         kind == NodeKind::kBlocked;
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
      if (IsState(diff_.tree.nodes[i].kind) && !diff_.total[i].empty()) AddStack(i);
    for (DiffFunction& function : functions_) SortStates(function.states);
    return std::move(functions_);
  }

 private:
  // `leaf` is its state; what is behind that is a path, and of other threads.
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
      if (is_last) functions_[function].self += diff_.total[leaf];
      is_last = false;
      if (seen_[function] == stack_) continue;  // a recursion
      seen_[function] = stack_;
      functions_[function].total += diff_.total[leaf];
      AddState(functions_[function].states, diff_, nodes[leaf], diff_.total[leaf]);
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

DiffTime& DiffTime::operator+=(const DiffTime& other) {
  a_ns += other.a_ns;
  b_ns += other.b_ns;
  a_count += other.a_count;
  b_count += other.b_count;
  a_exact_ns += other.a_exact_ns;
  b_exact_ns += other.b_exact_ns;
  a_error += other.a_error;
  b_error += other.b_error;
  return *this;
}

bool IsNoise(const DiffTime& time, const ComparedTimes& of) {
  struct Side {
    double sampled_ns;
    double count;  // at least 1
    double ns;
    const ErrorSum& error;
    double scale;
  };
  const auto side = [](std::uint64_t ns, std::uint64_t exact_ns, std::uint64_t count,
                       const ErrorSum& error, double scale) {
    return Side{.sampled_ns = static_cast<double>(ns - std::min(exact_ns, ns)),
                .count = static_cast<double>(std::max<std::uint64_t>(count, 1)),
                .ns = static_cast<double>(ns),
                .error = error,
                .scale = scale};
  };
  // Of n samples that stand for t and are independent the standard error is t / sqrt(n); of none
  // that of one sample of the other side.
  const auto variance = [](const Side& own, const Side& other) {
    const double one = other.sampled_ns / other.count;
    if (own.ns == 0) return one * one;
    if (own.error.known) return own.error.variance() * own.scale * own.scale;
    return own.sampled_ns * own.sampled_ns / own.count;
  };
  const Side a = side(time.a_ns, time.a_exact_ns, time.a_count, time.a_error, of.scale_of_a);
  const Side b = side(time.b_ns, time.b_exact_ns, time.b_count, time.b_error, 1);
  const double of_a = variance(a, b);
  const double of_b = variance(b, a);
  const double sum = of_a + of_b;
  const double missing = a.error.missing_ns * of.scale_of_a + b.error.missing_ns;
  const double change = std::fabs(static_cast<double>(time.change_ns())) - missing;
  if (change <= kLeastQuantile * std::sqrt(sum)) return true;
  // Welch and Satterthwaite.
  const auto degrees = [](const Side& one) {
    return one.error.known ? static_cast<double>(one.error.degrees) : kManyDegrees;
  };
  const double of_both =
      sum > 0 ? sum * sum / (of_a * of_a / degrees(a) + of_b * of_b / degrees(b)) : kManyDegrees;
  const double tail = kTail / static_cast<double>(std::max<std::size_t>(of.rows, 1));
  return change <= StudentQuantile(tail, std::min(of_both, kManyDegrees)) * std::sqrt(sum);
}

std::vector<std::uint64_t> ScaleToSum(std::vector<std::uint64_t> values, std::uint64_t numerator,
                                      std::uint64_t denominator) {
  Wide sum = 0;
  std::uint64_t before = 0;
  for (std::uint64_t& value : values) {
    sum += value;
    const auto scaled = static_cast<std::uint64_t>(sum * numerator / denominator);
    value = scaled - std::exchange(before, scaled);
  }
  return values;
}

Result<Diff> Diff::Build(const v1::Profile& a, const v1::Profile& b, const DiffOptions& options) {
  if (ModeOf(a) != ModeOf(b))
    return Error{ErrorCode::kInvalidArgument,
                 options.a_name + " holds " + std::string(ModeText(ModeOf(a))) + ", " +
                     options.b_name + " " + std::string(ModeText(ModeOf(b))),
                 "collect both with the same -m"};
  Result<StackTree> tree_a = TreeOf(a, options);
  if (!tree_a) return tree_a.error();
  Result<StackTree> tree_b = TreeOf(b, options);
  if (!tree_b) return tree_b.error();

  Diff diff;
  diff.a = SideOf(a, options.a_name);
  diff.b = SideOf(b, options.b_name);
  const std::size_t nodes_of_b = tree_b->nodes.size();
  for (const TreeNode& node : tree_b->nodes)
    diff.self.push_back({.a_ns = 0,
                         .b_ns = node.self_ns,
                         .a_count = 0,
                         .b_count = node.self_count,
                         .a_exact_ns = 0,
                         .b_exact_ns = node.self_exact_ns});
  const ShareError error_of_b(b);
  for (std::size_t i = 0; i < tree_b->leaves.size(); ++i)
    error_of_b.Add(static_cast<int>(i), diff.self[tree_b->leaves[i]].b_error);
  Union both(*std::move(tree_b));
  const std::vector<std::uint32_t> places = both.Add(*tree_a);
  diff.tree = std::move(both).Take();
  diff.self.resize(diff.tree.nodes.size());
  for (std::size_t i = 0; i < diff.tree.nodes.size(); ++i)
    diff.frame_is_a.push_back(i >= nodes_of_b);

  std::vector<std::uint64_t> a_ns;
  for (const TreeNode& node : tree_a->nodes) a_ns.push_back(node.self_ns);
  if (!options.absolute && diff.a.elapsed_ns > 0 && diff.b.elapsed_ns > 0 &&
      diff.a.elapsed_ns != diff.b.elapsed_ns) {
    diff.scale = static_cast<double>(diff.b.elapsed_ns) / static_cast<double>(diff.a.elapsed_ns);
    Wide sum = 0;
    for (const std::uint64_t ns : a_ns) sum += ns;
    if (sum * diff.b.elapsed_ns / diff.a.elapsed_ns >> 62 != 0)
      return Error{ErrorCode::kInvalidArgument,
                   options.a_name + " is too short to be scaled to the length of " + options.b_name,
                   "compare them as they are: --absolute"};
    a_ns = ScaleToSum(std::move(a_ns), diff.b.elapsed_ns, diff.a.elapsed_ns);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const TreeNode& node = tree_a->nodes[i];
    DiffTime& time = diff.self[places[i]];
    time.a_ns += a_ns[i];
    time.a_count += node.self_count;
    // Only for IsNoise: a ns more or less is nothing there.
    time.a_exact_ns +=
        static_cast<std::uint64_t>(static_cast<double>(node.self_exact_ns) * diff.scale);
  }
  const ShareError error_of_a(a);
  for (std::size_t i = 0; i < tree_a->leaves.size(); ++i)
    error_of_a.Add(static_cast<int>(i), diff.self[places[tree_a->leaves[i]]].a_error);
  SumUp(diff);
  return diff;
}

std::vector<DiffState> DiffStates(const Diff& diff) {
  std::vector<DiffState> states;
  for (std::size_t i = 0; i < diff.tree.nodes.size(); ++i)
    if (IsState(diff.tree.nodes[i].kind) && !diff.total[i].empty())
      AddState(states, diff, diff.tree.nodes[i], diff.total[i]);
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
