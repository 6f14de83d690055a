#include "daemon/rules/rule_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/rules/pattern.h"

namespace profd::rules {
namespace {

constexpr const char* kShippedName = "rules.toml";

template <typename AnyRule>
Result<void> CompilePatterns(const std::vector<AnyRule>& rules, PatternSetRef& patterns) {
  auto made = PatternSet::Make(std::vector<FramePattern>(rules.begin(), rules.end()));
  if (!made) return made.error();
  patterns = *std::move(made);
  return {};
}

template <typename AnyRule>
void Append(std::vector<AnyRule>& from, std::vector<AnyRule>& to) {
  std::ranges::move(from, std::back_inserter(to));
}

}  // namespace

Result<RuleSetRef> RuleSet::Make(Rules rules) {
  const std::shared_ptr<RuleSet> set(new RuleSet(std::move(rules)));
  PROFD_TRY(set->Compile());
  return RuleSetRef(set);
}

Result<void> RuleSet::Compile() {
  PROFD_TRY(CompilePatterns(rules_.classes, classes_));
  PROFD_TRY(CompilePatterns(rules_.operators, operators_));
  PROFD_TRY(CompilePatterns(rules_.phases, phases_));
  for (const OperatorRule& rule : rules_.operators) {
    auto name = OperatorName::Parse(rule.name, rule.function.value_or(".*"));
    if (!name) return name.error();
    Naming& naming = namings_.emplace_back(Naming{*std::move(name), {}});
    for (const std::string& pattern : rule.deny)
      naming.deny.push_back(std::make_unique<const RE2>(pattern, PatternOptions()));
  }
  return {};
}

Result<RuleSetRef> RuleSet::Load(const std::string& file) {
  Rules rules;
  if (!file.empty()) {
    auto read = ReadRuleFile(file);
    if (!read) return read.error();
    rules = *std::move(read);
  }
  auto shipped = ParseRules(kShippedRules, kShippedName);
  if (!shipped) return shipped.error();
  Append(shipped->classes, rules.classes);
  Append(shipped->operators, rules.operators);
  Append(shipped->phases, rules.phases);
  return Make(std::move(rules));
}

FrameRules RuleSet::Find(const symbolize::Frame& frame) const {
  FrameRules found;
  for (const std::uint32_t index : classes_->Matches(frame)) {
    if (!found.as_leaf) found.as_leaf = index;
    if (rules_.classes[index].leaf) continue;
    found.as_caller = index;
    break;
  }
  return found;
}

std::optional<FrameOperator> RuleSet::FindOperator(const symbolize::Frame& frame) const {
  for (const std::uint32_t index : operators_->Matches(frame)) {
    const Naming& naming = namings_[index];
    std::string name = naming.name.Of(frame.name);
    const bool denied = std::ranges::any_of(
        naming.deny, [&](const auto& pattern) { return RE2::FullMatch(name, *pattern); });
    if (!name.empty() && !denied)
      return FrameOperator{std::move(name), rules_.operators[index].rank};
  }
  return std::nullopt;
}

Phase RuleSet::FindPhase(const symbolize::Frame& frame) const {
  const std::vector<std::uint32_t> matches = phases_->Matches(frame);
  return matches.empty() ? Phase::kNone : rules_.phases[matches.front()].phase;
}

}  // namespace profd::rules
