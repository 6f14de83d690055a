#include "client/format/folded.h"

#include <algorithm>

#include "client/profile/check_profile.h"
#include "client/profile/profile_facts.h"
#include "client/profile/stack_tree.h"

namespace profd::client {
namespace {

constexpr std::uint64_t kNsPerUs = 1000;

Result<void> Write(const v1::Profile& profile, const ExportOptions& options, std::ostream& out) {
  PROFD_TRY(CheckProfile(profile));
  const bool samples = ModeOf(profile) == Mode::kOnCpu;
  const auto tree =
      StackTree::Build(profile, options, StateFrames::kWaiting,
                       options.threads ? StackRoots::kThreads : StackRoots::kProcesses);
  if (!tree) return tree.error();

  const std::vector<std::uint32_t> order = tree->ByName();
  std::vector<std::uint64_t> weights;
  weights.reserve(order.size());
  for (const std::uint32_t i : order)
    weights.push_back(samples ? tree->nodes[i].self_count : tree->nodes[i].self_ns);
  weights = RoundToSum(weights, samples ? 1 : kNsPerUs);

  std::string stack;
  std::vector<std::size_t> ends(tree->nodes.size(), 0);  // bytes of the stack up to this node
  for (std::size_t i = 1; i < order.size(); ++i) {
    const TreeNode& node = tree->nodes[order[i]];
    stack.resize(ends[node.parent]);
    if (node.parent != 0) stack += ';';
    stack += tree->labels[node.label];
    ends[order[i]] = stack.size();
    if (weights[i] > 0) out << stack << ' ' << weights[i] << '\n';
  }
  return FinishStream(out);
}

}  // namespace

std::vector<std::uint64_t> RoundToSum(std::span<const std::uint64_t> values, std::uint64_t unit) {
  std::vector<std::uint64_t> rounded;
  std::vector<std::size_t> order;
  std::uint64_t left = 0;  // of the sum, in units of 1
  for (const std::uint64_t value : values) {
    order.push_back(rounded.size());
    rounded.push_back(value / unit);
    left += value % unit;
  }
  const auto units = static_cast<std::ptrdiff_t>((left + unit / 2) / unit);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return values[a] % unit > values[b] % unit;
  });
  for (std::ptrdiff_t i = 0; i < units; ++i) ++rounded[order[static_cast<std::size_t>(i)]];
  return rounded;
}

Exporter FoldedExporter() {
  return {.name = "folded",
          .extensions = {".folded", ".collapsed", ".txt"},
          .about = "a line per stack",
          .viewers = "flamegraph.pl, speedscope, diff, grep",
          .write = Write};
}

}  // namespace profd::client
