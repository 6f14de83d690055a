#include "daemon/rules/rule_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/rules/pattern.h"

namespace profd::rules {
namespace {

constexpr const char* kShippedName = "rules.toml";
constexpr std::int64_t kMostMemory = 8 << 20;  // of all function patterns together

RE2::Options SetOptions() {
  RE2::Options options = PatternOptions();
  options.set_max_mem(kMostMemory);
  return options;
}

std::unique_ptr<RE2> Compile(const std::optional<std::string>& pattern) {
  return pattern ? std::make_unique<RE2>(*pattern, PatternOptions()) : nullptr;
}

bool Matches(const std::unique_ptr<RE2>& pattern, const std::string& path) {
  if (!pattern || RE2::FullMatch(path, *pattern)) return true;
  const std::string_view name = BaseName(path);
  return RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *pattern);
}

}  // namespace

RuleSet::RuleSet(std::vector<Rule> rules)
    : rules_(std::move(rules)), functions_(SetOptions(), RE2::ANCHOR_BOTH) {
  for (const Rule& rule : rules_) {
    functions_.Add(rule.function.value_or(".*"), nullptr);
    places_.push_back({Compile(rule.module), Compile(rule.file)});
  }
}

Result<RuleSetRef> RuleSet::Make(std::vector<Rule> rules) {
  const std::shared_ptr<RuleSet> set(new RuleSet(std::move(rules)));
  if (!set->functions_.Compile())
    return Error{ErrorCode::kExhausted, "the patterns of the rules need too much memory together",
                 "use fewer or shorter ones"};
  return RuleSetRef(set);
}

Result<RuleSetRef> RuleSet::Load(const std::string& file) {
  std::vector<Rule> rules;
  if (!file.empty()) {
    auto read = ReadRuleFile(file);
    if (!read) return read.error();
    rules = *std::move(read);
  }
  auto shipped = ParseRules(kShippedRules, kShippedName);
  if (!shipped) return shipped.error();
  std::ranges::move(*shipped, std::back_inserter(rules));
  return Make(std::move(rules));
}

FrameRules RuleSet::Find(const symbolize::Frame& frame) const {
  FrameRules found;
  std::vector<int> matches = FunctionMatches(frame.name);
  std::ranges::sort(matches);
  for (const int match : matches) {
    const auto index = static_cast<std::uint32_t>(match);
    const Rule& rule = rules_[index];
    const bool of_unnamed = rule.function && rule.function->empty();
    if (of_unnamed != frame.name.empty() || !PlacesMatch(index, frame)) continue;
    if (!found.as_leaf) found.as_leaf = index;
    if (rule.leaf) continue;
    found.as_caller = index;
    break;
  }
  return found;
}

std::vector<int> RuleSet::FunctionMatches(const std::string& name) const {
  std::vector<int> matches;
  RE2::Set::ErrorInfo error{};
  if (rules_.empty() || functions_.Match(name, &matches, &error)) return matches;
  if (error.kind != RE2::Set::kOutOfMemory) return {};
  // The automaton of all patterns is too large for this name: one after the other.
  matches.clear();
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (RE2::FullMatch(name, RE2(rules_[i].function.value_or(".*"), PatternOptions())))
      matches.push_back(static_cast<int>(i));
  return matches;
}

bool RuleSet::PlacesMatch(std::size_t rule, const symbolize::Frame& frame) const {
  return Matches(places_[rule].module, frame.module) && Matches(places_[rule].file, frame.file);
}

}  // namespace profd::rules
