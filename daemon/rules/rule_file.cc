#include "daemon/rules/rule_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/rules/pattern.h"

#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace profd::rules {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr std::int64_t kVersion = 1;
constexpr const char* kHint = "see RULES in profd.toml(5)";

constexpr std::array<std::pair<FrameClass, std::string_view>, 5> kClasses{{
    {FrameClass::kSpin, "spin"},
    {FrameClass::kGpuWait, "gpu-wait"},
    {FrameClass::kRuntime, "runtime"},
    {FrameClass::kCopy, "copy"},
    {FrameClass::kWork, "work"},
}};

// Words of a later version, which would be ignored here.
constexpr std::array<std::string_view, 5> kLater{"operator", "phase", "step", "framework", "rank"};

bool IsLater(std::string_view word) { return std::ranges::find(kLater, word) != kLater.end(); }

std::string Later(std::string_view word) {
  return "'" + std::string(word) + "': rules for operators and phases are not supported";
}

FrameClass ClassOf(std::string_view name) {
  for (const auto& [frame_class, known] : kClasses)
    if (known == name) return frame_class;
  return FrameClass::kNone;
}

std::string ClassNames() {
  std::string names;
  for (const auto& [frame_class, name] : kClasses)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

// Walks the parsed tree; keeps the valid rules, and a message for each problem.
class Reading {
 public:
  explicit Reading(std::string path) : path_(std::move(path)) {}

  void Take(const toml::table& file) {
    for (const auto& [name, node] : file) {
      const std::string_view key = name.str();
      if (key == "rule")
        TakeRules(node);
      else if (key == "version")
        CheckVersion(node);
      else
        Refuse(node, IsLater(key)
                         ? Later(key)
                         : "unknown key '" + std::string(key) + "'; a rule begins with [[rule]]");
    }
  }

  Result<std::vector<Rule>> Finish() && {
    if (problems_.empty()) return std::move(rules_);
    std::string text;
    for (const auto& [line, problem] : problems_)
      text += (text.empty() ? "" : "\n") + Place(line) + ": " + problem;
    return Error{ErrorCode::kInvalidArgument, text, kHint};
  }

 private:
  void Refuse(const toml::node& node, std::string problem) {
    problems_.emplace(node.source().begin.line, std::move(problem));
  }

  void CheckVersion(const toml::node& node) {
    const auto* version = node.as_integer();
    if (version == nullptr || version->get() != kVersion)
      Refuse(node, "version must be " + std::to_string(kVersion));
  }

  void TakeRules(const toml::node& node) {
    const auto* list = node.as_array();
    if (list == nullptr) return Refuse(node, "rule must be a table of a list: write [[rule]]");
    for (const toml::node& element : *list) {
      if (const auto* table = element.as_table())
        TakeRule(*table);
      else
        Refuse(element, "rule must be a table of a list: write [[rule]]");
    }
  }

  void TakeRule(const toml::table& table) {
    Rule rule;
    rule.place = Place(table.source().begin.line);
    const std::size_t problems = problems_.size();
    for (const auto& [name, node] : table) {
      const std::string_view key = name.str();
      if (key == "class")
        TakeClass(node, rule);
      else if (key == "function")
        TakePattern(key, node, rule.function);
      else if (key == "module")
        TakePattern(key, node, rule.module);
      else if (key == "file")
        TakePattern(key, node, rule.file);
      else if (key == "leaf")
        TakeLeaf(node, rule);
      else
        Refuse(node, IsLater(key) ? Later(key)
                                  : "unknown key '" + std::string(key) +
                                        "'; a rule has class, function, module, file and leaf");
    }
    if (problems_.size() != problems) return;
    if (rule.frame_class == FrameClass::kNone)
      return Refuse(table, "the rule has no class: " + ClassNames());
    if (!rule.function && !rule.module && !rule.file)
      return Refuse(table, "the rule has no pattern: function, module or file");
    rules_.push_back(std::move(rule));
  }

  void TakeClass(const toml::node& node, Rule& rule) {
    const auto* text = node.as_string();
    if (text == nullptr) return Refuse(node, "class must be a string: one of " + ClassNames());
    if (IsLater(text->get())) return Refuse(node, "class " + Later(text->get()));
    rule.frame_class = ClassOf(text->get());
    if (rule.frame_class == FrameClass::kNone)
      Refuse(node, "class is '" + text->get() + "'; it must be one of " + ClassNames());
  }

  void TakePattern(std::string_view key, const toml::node& node,
                   std::optional<std::string>& pattern) {
    const auto* text = node.as_string();
    if (text == nullptr) return Refuse(node, std::string(key) + " must be a string");
    const RE2 compiled(text->get(), PatternOptions());
    if (!compiled.ok()) return Refuse(node, std::string(key) + ": " + compiled.error());
    pattern = text->get();
  }

  void TakeLeaf(const toml::node& node, Rule& rule) {
    const auto* leaf = node.as_boolean();
    if (leaf == nullptr) return Refuse(node, "leaf must be true or false");
    rule.leaf = leaf->get();
  }

  [[nodiscard]] std::string Place(toml::source_index line) const {
    return path_ + ":" + std::to_string(line);
  }

  const std::string path_;
  std::vector<Rule> rules_;
  std::multimap<toml::source_index, std::string> problems_;  // by line: the tree is sorted by name
};

}  // namespace

std::string_view NameOf(FrameClass frame_class) {
  for (const auto& [known, name] : kClasses)
    if (known == frame_class) return name;
  return "";
}

Result<std::vector<Rule>> ParseRules(std::string_view text, const std::string& path) {
  const auto parsed = toml::parse(text, path);
  if (!parsed) {
    const auto& error = parsed.error();
    return Error{ErrorCode::kInvalidArgument,
                 path + ":" + std::to_string(error.source().begin.line) + ": " +
                     std::string(error.description()),
                 kHint};
  }
  Reading reading(path);
  reading.Take(parsed.table());
  return std::move(reading).Finish();
}

Result<std::vector<Rule>> ReadRuleFile(const std::string& path) {
  const auto text = ReadFile(path, kMostBytes);
  if (text) return ParseRules(*text, path);
  if (text.error().code != ErrorCode::kExhausted) return text.error();
  return Error{ErrorCode::kInvalidArgument, path + " is longer than 1 MiB",
               "is it a file with rules?"};
}

}  // namespace profd::rules
