#include "daemon/rules/rule_set.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include "daemon/elf/symbols/virtual_functions.h"
#include "daemon/rules/pattern.h"
#include "daemon/symbolize/names/demangle.h"

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

// A virtual function of a stripped file, as the symbolizer names it.
struct VirtualFunction {
  std::string_view type;
  std::uint32_t place = 0;
  // Types that its vtable begins with, and its own.
  std::vector<std::string> interfaces;
};

// "_ZTS4Base" -> "Base"; "": it is none.
std::string TypeName(std::string_view symbol) {
  constexpr std::string_view kOfType = "typeinfo name for ";
  const std::string name = symbolize::Demangle(symbol).name;
  return name.starts_with(kOfType) ? name.substr(kOfType.size()) : "";
}

// Nothing: it is another function, or in the vtable of a further base.
std::optional<VirtualFunction> VirtualFunctionOf(const symbolize::Frame& frame) {
  const std::string_view name = frame.name;
  const std::size_t at = name.rfind(elf::kVirtualPlace);
  if (at == std::string_view::npos) return std::nullopt;
  VirtualFunction function;
  function.type = name.substr(0, at);
  const std::string_view number = name.substr(at + elf::kVirtualPlace.size());
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), function.place);
  if (error != std::errc{} || std::string_view(end, number.data() + number.size()) != ")")
    return std::nullopt;
  std::string_view bases = frame.symbol;
  for (std::size_t of = bases.find(elf::kVirtualBase); of != std::string_view::npos;
       of = bases.find(elf::kVirtualBase)) {
    bases.remove_prefix(of + elf::kVirtualBase.size());
    function.interfaces.push_back(TypeName(bases.substr(0, bases.find(elf::kVirtualBase))));
  }
  function.interfaces.emplace_back(function.type);
  return function;
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
  methods_.reserve(rules_.methods.size());
  for (const MethodRule& rule : rules_.methods)
    methods_.push_back({std::make_unique<const RE2>(rule.interface, PatternOptions()),
                        rule.place_in_vtable, rule.name});
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
  Append(shipped->methods, rules.methods);
  return Make(std::move(rules));
}

std::optional<std::string> RuleSet::FindMethod(const symbolize::Frame& frame) const {
  const auto function = VirtualFunctionOf(frame);
  if (!function) return std::nullopt;
  const auto is_for = [&](const Method& method) {
    return method.place_in_vtable == function->place &&
           std::ranges::any_of(function->interfaces, [&](const std::string& name) {
             return RE2::FullMatch(name, *method.interface);
           });
  };
  const auto method = std::ranges::find_if(methods_, is_for);
  if (method == methods_.end()) return std::nullopt;
  return std::string(function->type) + "::" + method->name;
}

std::optional<symbolize::Frame> RuleSet::AsMethod(const symbolize::Frame& frame) const {
  auto name = FindMethod(frame);
  if (!name) return std::nullopt;
  symbolize::Frame named = frame;
  named.name = *std::move(name);
  return named;
}

FrameRules RuleSet::Find(const symbolize::Frame& frame) const {
  if (const auto named = AsMethod(frame))
    if (const FrameRules found = FindByName(*named); found.as_leaf) return found;
  return FindByName(frame);
}

std::optional<FrameOperator> RuleSet::FindOperator(const symbolize::Frame& frame) const {
  if (const auto named = AsMethod(frame))
    if (auto found = FindOperatorByName(*named)) return found;
  return FindOperatorByName(frame);
}

Phase RuleSet::FindPhase(const symbolize::Frame& frame) const {
  if (const auto named = AsMethod(frame))
    if (const Phase found = FindPhaseByName(*named); found != Phase::kNone) return found;
  return FindPhaseByName(frame);
}

FrameRules RuleSet::FindByName(const symbolize::Frame& frame) const {
  FrameRules found;
  for (const std::uint32_t index : classes_->Matches(frame)) {
    if (!found.as_leaf) found.as_leaf = index;
    if (rules_.classes[index].leaf) continue;
    found.as_caller = index;
    break;
  }
  return found;
}

std::optional<FrameOperator> RuleSet::FindOperatorByName(const symbolize::Frame& frame) const {
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

Phase RuleSet::FindPhaseByName(const symbolize::Frame& frame) const {
  const std::vector<std::uint32_t> matches = phases_->Matches(frame);
  return matches.empty() ? Phase::kNone : rules_.phases[matches.front()].phase;
}

}  // namespace profd::rules
