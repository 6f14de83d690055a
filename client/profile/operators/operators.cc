#include "client/profile/operators/operators.h"

#include <algorithm>
#include <array>
#include <map>

#include "client/profile/operators/region_workers.h"
#include "client/profile/profile_facts.h"
#include "client/profile/spinning.h"
#include "client/profile/stack_names.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

constexpr std::array<std::string_view, v1::Phase_ARRAYSIZE> kPhases{
    "", "data", "forward", "backward", "optimizer", "communication", "other"};

// The phase of a stack whose outer part has `outer`, with one more frame.
v1::Phase With(v1::Phase outer, v1::Phase inner) {
  const bool decided = outer != v1::PHASE_NONE && outer != v1::PHASE_FORWARD;
  return decided || inner == v1::PHASE_NONE ? outer : inner;
}

void AddSample(const v1::Profile& profile, int sample, OperatorTime& time) {
  const v1::Samples& samples = profile.samples();
  const std::uint64_t ns = samples.weight_ns(sample);
  if (samples.state(sample) == v1::STATE_RUNNABLE)
    time.runnable_ns += ns;
  else if (samples.state(sample) == v1::STATE_BLOCKED)
    time.blocked_ns += ns;
  else if (IsSpinning(profile, sample))
    time.spinning_ns += ns;
  else
    time.working_ns += ns;
  time.samples += samples.count(sample);
}

// By name: the work in stacks that hold the operator, each stack once.
std::vector<std::uint64_t> Totals(const v1::Profile& profile, const Operators& operators,
                                  const std::vector<std::uint64_t>& work_of_node) {
  std::vector<std::uint64_t> totals(operators.names().size());
  std::vector<std::uint32_t> seen_in(operators.names().size());
  for (std::uint32_t leaf = 1; leaf < work_of_node.size(); ++leaf) {
    if (work_of_node[leaf] == 0) continue;
    for (std::uint32_t at = leaf; at != 0; at = profile.nodes(static_cast<int>(at) - 1).parent()) {
      const auto op = operators.OperatorOfFrame(at);
      if (!op || seen_in[*op] == leaf) continue;
      seen_in[*op] = leaf;
      totals[*op] += work_of_node[leaf];
    }
  }
  return totals;
}

std::string Percent(std::uint64_t part, std::uint64_t whole) {
  return FormatDecimals(100 * ShareOf(part, whole), 0) + " %";
}

}  // namespace

Operators::Operators(const v1::Profile& profile) : profile_(profile) {
  NameOperators();
  JudgeStacks();
}

void Operators::NameOperators() {
  std::map<std::string, std::uint32_t> known;
  for (const v1::Operator& op : profile_.operators()) {
    const auto [name, is_new] =
        known.emplace(SafeName(op.name()), static_cast<std::uint32_t>(names_.size()));
    if (is_new) {
      names_.push_back(name->first);
      rank_.push_back(op.rank());
    }
    name_of_.push_back(name->second);
    rank_[name->second] = std::min(rank_[name->second], op.rank());
  }
}

void Operators::JudgeStacks() {
  stacks_.resize(static_cast<std::size_t>(profile_.nodes_size()) + 1);
  for (int i = 0; i < profile_.nodes_size(); ++i) {  // a parent stands before its children
    const v1::StackNode& node = profile_.nodes(i);
    const v1::Frame& frame = profile_.frames(static_cast<int>(node.frame()));
    const Stack& outer = stacks_[node.parent()];
    Stack& stack = stacks_[static_cast<std::size_t>(i) + 1];
    const auto rank = [&](std::uint32_t op) {
      return op == 0 ? kNoRank : profile_.operators(static_cast<int>(op) - 1).rank();
    };
    // A leader works in its own region by the same functions as the workers.
    stack.own = outer.region && rank(frame.op()) == kWorkerRank ? 0 : frame.op();
    const bool better = stack.own != 0 && rank(stack.own) <= rank(outer.op);
    stack.op = better ? stack.own : outer.op;
    stack.region = outer.region || rank(stack.own) == kRegionRank;
    stack.pool = outer.pool || rank(stack.own) == kWorkerRank;
    stack.phase = With(outer.phase, frame.phase());
    any_ = any_ || stack.op != 0 || stack.phase != v1::PHASE_NONE;
  }
}

std::optional<std::uint32_t> Operators::OperatorAt(std::uint32_t node) const {
  const std::uint32_t op = stacks_[node].op;
  return op == 0 ? std::nullopt : std::optional(name_of_[op - 1]);
}

std::optional<std::uint32_t> Operators::OperatorOfFrame(std::uint32_t node) const {
  const std::uint32_t op = stacks_[node].own;
  return op == 0 ? std::nullopt : std::optional(name_of_[op - 1]);
}

std::string_view PhaseName(v1::Phase phase) {
  const auto index = static_cast<std::size_t>(phase);
  return index < kPhases.size() ? kPhases[index] : kPhases[v1::PHASE_OTHER];
}

OperatorTable TableOf(const v1::Profile& profile, const Operators& operators) {
  const v1::Samples& samples = profile.samples();
  const RegionWorkers workers(profile, operators);
  OperatorTable table;
  std::map<std::optional<std::uint32_t>, OperatorRow> rows;
  std::map<v1::Phase, PhaseRow> phases;
  std::vector<std::uint64_t> work_of_node(static_cast<std::size_t>(profile.nodes_size()) + 1);
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    const auto op = operators.OperatorOf(i);
    AddSample(profile, i, rows[op].self);
    AddSample(profile, i, phases[operators.PhaseOf(i)].time);
    if (!IsWorking(profile, i)) continue;
    table.working_ns += samples.weight_ns(i);
    work_of_node[samples.node(i)] += samples.weight_ns(i);
    if (op && operators.IsNamed(*op)) table.named_ns += samples.weight_ns(i);
    if (const auto leader = workers.LeaderOf(i)) {
      const auto its = operators.OperatorOf(*leader);
      rows[its].workers_ns += samples.weight_ns(i);
      if (its && operators.IsNamed(*its)) table.inferred_ns += samples.weight_ns(i);
    }
    if (samples.node(i) == 0 || (samples.stack_flags(i) & kStackHasNoUserPart) != 0) continue;
    table.stacks += samples.count(i);
    if ((samples.stack_flags(i) & kStackReachesRoot) == 0)
      table.incomplete_stacks += samples.count(i);
  }
  const auto totals = Totals(profile, operators, work_of_node);
  for (std::uint32_t op = 0; op < totals.size(); ++op)
    if (totals[op] != 0) rows[op].total_working_ns = totals[op];
  for (auto& [op, row] : rows) {
    row.op = op;
    if (!op) row.total_working_ns = row.self.working_ns;
    table.rows.push_back(row);
  }
  for (auto& [phase, row] : phases) {
    row.phase = phase;
    table.phases.push_back(row);
  }
  std::ranges::stable_sort(table.rows, std::ranges::greater(),
                           [](const OperatorRow& row) { return row.self.working_ns; });
  std::ranges::stable_sort(table.phases, std::ranges::greater(),
                           [](const PhaseRow& row) { return row.time.working_ns; });
  return table;
}

std::string CoverageText(const OperatorTable& table, const Operators& operators) {
  if (operators.empty()) return "no operators in this file";
  std::string text =
      "operators named for " + Percent(table.named_ns, table.working_ns) + " of working time";
  if (table.inferred_ns != 0)
    text += ", with workers ~" + Percent(table.named_ns + table.inferred_ns, table.working_ns);
  return text + "; " + Percent(table.incomplete_stacks, table.stacks) + " of stacks incomplete";
}

}  // namespace profd::client
