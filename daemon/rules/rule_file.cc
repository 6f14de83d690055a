#include "daemon/rules/rule_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "daemon/base/toml/toml_file.h"
#include "daemon/rules/operator_name.h"
#include "daemon/rules/pattern.h"

namespace profd::rules {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr TomlKind kKind{.hint = "see RULES in profd.toml(5)",
                         .question = "is it a file with rules?"};

template <typename Value>
using Names = std::pair<Value, std::string_view>;

constexpr std::array<Names<FrameClass>, 5> kClasses{{
    {FrameClass::kSpin, "spin"},
    {FrameClass::kGpuWait, "gpu-wait"},
    {FrameClass::kRuntime, "runtime"},
    {FrameClass::kCopy, "copy"},
    {FrameClass::kWork, "work"},
}};

constexpr std::array<Names<Phase>, 6> kPhases{{
    {Phase::kData, "data"},
    {Phase::kForward, "forward"},
    {Phase::kBackward, "backward"},
    {Phase::kOptimizer, "optimizer"},
    {Phase::kCommunication, "communication"},
    {Phase::kOther, "other"},
}};

template <typename Table>
std::string ListOf(const Table& table) {
  std::string names;
  for (const auto& [value, name] : table) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// The value that `key` names in `node`, which has to be one of the table.
template <typename Value, std::size_t kSize>
Value Named(std::string_view key, const toml::node& node,
            const std::array<Names<Value>, kSize>& table, TomlProblems& problems) {
  const auto* text = node.as_string();
  if (text == nullptr) {
    problems.Add(node, std::string(key) + " must be a string: one of " + ListOf(table));
    return Value::kNone;
  }
  const auto* known = std::ranges::find(table, text->get(), &Names<Value>::second);
  if (known != table.end()) return known->first;
  problems.Add(node,
               std::string(key) + " is '" + text->get() + "'; it must be one of " + ListOf(table));
  return Value::kNone;
}

// Walks the parsed tree; keeps the valid rules, and a message for each problem.
class Reading {
 public:
  explicit Reading(const std::string& path) : problems_(path) {}

  void Take(const toml::table& file) {
    for (const auto& [name, node] : file) {
      const std::string_view key = name.str();
      if (key == "rule")
        TakeTables(key, node, rules_.classes);
      else if (key == "operator")
        TakeTables(key, node, rules_.operators);
      else if (key == "phase")
        TakeTables(key, node, rules_.phases);
      else if (key == "method")
        TakeTables(key, node, rules_.methods);
      else if (key == "version")
        CheckVersion(node);
      else
        problems_.Add(node,
                      "unknown key '" + std::string(key) +
                          "'; rules begin with [[rule]], [[operator]], [[phase]] or [[method]]");
    }
  }

  Result<Rules> Finish() && {
    if (problems_.empty()) return std::move(rules_);
    return problems_.ToError(kKind);
  }

 private:
  void CheckVersion(const toml::node& node) {
    const auto* version = node.as_integer();
    if (version == nullptr || version->get() != kVersion)
      problems_.Add(node, "version must be " + std::to_string(kVersion));
  }

  template <typename AnyRule>
  void TakeTables(std::string_view key, const toml::node& node, std::vector<AnyRule>& rules) {
    const std::string name(key);
    const std::string advice = name + " must be a table of a list: write [[" + name + "]]";
    const auto* list = node.as_array();
    if (list == nullptr) return problems_.Add(node, advice);
    for (const toml::node& element : *list) {
      if (const auto* table = element.as_table())
        TakeRule(name, *table, rules);
      else
        problems_.Add(element, advice);
    }
  }

  template <typename AnyRule>
  void TakeRule(const std::string& kind, const toml::table& table, std::vector<AnyRule>& rules) {
    AnyRule rule;
    rule.place = problems_.PlaceOf(table);
    const std::size_t problems = problems_.size();
    for (const auto& [name, node] : table) {
      const std::string_view key = name.str();
      if (TakePattern(key, node, rule) || TakeKey(key, node, rule)) continue;
      problems_.Add(node, "unknown key '" + std::string(key) + "'; " + KeysOf(rule));
    }
    if (problems_.size() != problems) return;
    CheckWhole(table, rule);
    if (problems_.size() != problems) return;
    if (!rule.function && !rule.module && !rule.file)
      return problems_.Add(table, "the " + kind + " has no pattern: function, module or file");
    rules.push_back(std::move(rule));
  }

  void TakeRule(const std::string& kind, const toml::table& table, std::vector<MethodRule>& rules) {
    MethodRule rule;
    rule.place = problems_.PlaceOf(table);
    const std::size_t problems = problems_.size();
    for (const auto& [name, node] : table) {
      const std::string_view key = name.str();
      if (key == "interface")
        rule.interface = PatternOf(key, node);
      else if (key == "virtual")
        TakePlace(node, rule);
      else if (key == "name")
        TakeMethodName(node, rule);
      else
        problems_.Add(node, "unknown key '" + std::string(key) +
                                "'; a method has interface, virtual and name");
    }
    for (const char* key : {"interface", "virtual", "name"})
      if (!table.contains(key)) problems_.Add(table, "the " + kind + " has no " + key);
    if (problems_.size() == problems) rules.push_back(std::move(rule));
  }

  void TakePlace(const toml::node& node, MethodRule& rule) {
    constexpr std::int64_t kMost = 9'999;
    const auto* place = node.as_integer();
    if (place == nullptr || place->get() < 0 || place->get() > kMost)
      return problems_.Add(node, "virtual must be a number from 0 to " + std::to_string(kMost) +
                                     ": the place in the vtable");
    rule.place_in_vtable = static_cast<std::uint32_t>(place->get());
  }

  void TakeMethodName(const toml::node& node, MethodRule& rule) {
    static const RE2 function_name("~?[A-Za-z_][A-Za-z0-9_]*", PatternOptions());
    rule.name = TextOf("name", node);
    if (node.is_string() && !RE2::FullMatch(rule.name, function_name))
      problems_.Add(node, "name is '" + rule.name + "'; it must be that of a function alone");
  }

  static std::string KeysOf(const Rule&) {
    return "a rule has class, function, module, file and leaf";
  }
  static std::string KeysOf(const OperatorRule&) {
    return "an operator has name, function, module, file, rank and deny";
  }
  static std::string KeysOf(const PhaseRule&) {
    return "a phase has name, function, module and file";
  }

  // False: the key is another one.
  bool TakePattern(std::string_view key, const toml::node& node, FramePattern& rule) {
    if (key == "function")
      rule.function = PatternOf(key, node);
    else if (key == "module")
      rule.module = PatternOf(key, node);
    else if (key == "file")
      rule.file = PatternOf(key, node);
    else
      return false;
    return true;
  }

  bool TakeKey(std::string_view key, const toml::node& node, Rule& rule) {
    if (key == "class")
      rule.frame_class = Named(key, node, kClasses, problems_);
    else if (key == "leaf")
      TakeLeaf(node, rule);
    else
      return false;
    return true;
  }

  bool TakeKey(std::string_view key, const toml::node& node, OperatorRule& rule) {
    if (key == "name")
      rule.name = TextOf(key, node);
    else if (key == "rank")
      TakeRank(node, rule);
    else if (key == "deny")
      TakeDeny(node, rule);
    else
      return false;
    return true;
  }

  bool TakeKey(std::string_view key, const toml::node& node, PhaseRule& rule) {
    if (key != "name") return false;
    rule.phase = Named(key, node, kPhases, problems_);
    return true;
  }

  void CheckWhole(const toml::table& table, const Rule& rule) {
    if (rule.frame_class == FrameClass::kNone)
      problems_.Add(table, "the rule has no class: " + ListOf(kClasses));
  }

  void CheckWhole(const toml::table& table, const OperatorRule& rule) {
    const toml::node* name = table.get("name");
    if (name == nullptr) return problems_.Add(table, "the operator has no name");
    const auto parsed = OperatorName::Parse(rule.name, rule.function.value_or(".*"));
    if (!parsed) problems_.Add(*name, "name: " + parsed.error().message);
  }

  void CheckWhole(const toml::table& table, const PhaseRule& rule) {
    if (rule.phase == Phase::kNone)
      problems_.Add(table, "the phase has no name: " + ListOf(kPhases));
  }

  void TakeLeaf(const toml::node& node, Rule& rule) {
    const auto* leaf = node.as_boolean();
    if (leaf == nullptr) return problems_.Add(node, "leaf must be true or false");
    rule.leaf = leaf->get();
  }

  void TakeRank(const toml::node& node, OperatorRule& rule) {
    const auto* rank = node.as_integer();
    if (rank == nullptr || rank->get() < kBestRank || rank->get() > kRegionRank)
      return problems_.Add(node, "rank must be a number from " + std::to_string(kBestRank) +
                                     " to " + std::to_string(kRegionRank));
    rule.rank = static_cast<std::uint32_t>(rank->get());
  }

  void TakeDeny(const toml::node& node, OperatorRule& rule) {
    const auto* list = node.as_array();
    if (list == nullptr) return problems_.Add(node, "deny must be a list of strings");
    for (const toml::node& element : *list) rule.deny.push_back(PatternOf("deny", element));
  }

  std::string TextOf(std::string_view key, const toml::node& node) {
    const auto* text = node.as_string();
    if (text != nullptr) return text->get();
    problems_.Add(node, std::string(key) + " must be a string");
    return "";
  }

  std::string PatternOf(std::string_view key, const toml::node& node) {
    std::string pattern = TextOf(key, node);
    const RE2 compiled(pattern, PatternOptions());
    if (!compiled.ok()) problems_.Add(node, std::string(key) + ": " + compiled.error());
    return pattern;
  }

  TomlProblems problems_;
  Rules rules_;
};

template <typename Value, std::size_t kSize>
std::string_view NameIn(const std::array<Names<Value>, kSize>& table, Value value) {
  const auto* known = std::ranges::find(table, value, &Names<Value>::first);
  return known == table.end() ? "" : known->second;
}

}  // namespace

std::string_view NameOf(FrameClass frame_class) { return NameIn(kClasses, frame_class); }
std::string_view NameOf(Phase phase) { return NameIn(kPhases, phase); }

Result<Rules> ParseRules(std::string_view text, const std::string& path) {
  const auto table = ParseToml(text, path, kKind);
  if (!table) return table.error();
  Reading reading(path);
  reading.Take(*table);
  return std::move(reading).Finish();
}

Result<Rules> ReadRuleFile(const std::string& path) {
  const auto text = ReadTomlText(path, kKind);
  if (!text) return text.error();
  return ParseRules(*text, path);
}

}  // namespace profd::rules
