#include "daemon/fleet/profile/relabelling.h"

#include <re2/re2.h>
#include <re2/stringpiece.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

namespace profd::fleet {
namespace {

constexpr std::array<std::pair<std::string_view, RelabelAction>, 6> kActions{
    {{"replace", RelabelAction::kReplace},
     {"keep", RelabelAction::kKeep},
     {"drop", RelabelAction::kDrop},
     {"labelmap", RelabelAction::kLabelMap},
     {"labeldrop", RelabelAction::kLabelDrop},
     {"labelkeep", RelabelAction::kLabelKeep}}};
constexpr std::int64_t kRegexBytes = 1 << 20;
constexpr std::size_t kLabelBytes = 4096;  // of a name or value that rules make

std::string SourceOf(const RelabelRule& rule, const Labels& labels) {
  std::string text;
  for (std::size_t i = 0; i < rule.source_labels.size(); ++i) {
    if (i != 0) text += rule.separator;
    if (const auto label = labels.find(rule.source_labels[i]); label != labels.end())
      text += label->second;
  }
  return text;
}

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The groups of one match: 0 is all of it.
class Groups {
 public:
  explicit Groups(const RE2& regex)
      : regex_(regex), texts_(static_cast<std::size_t>(regex.NumberOfCapturingGroups()) + 1) {}

  // Whether the regex matches all of `text`, which must outlive this.
  [[nodiscard]] bool Match(std::string_view text) {
    return regex_.Match({text.data(), text.size()}, 0, text.size(), RE2::ANCHOR_BOTH, texts_.data(),
                        static_cast<int>(texts_.size()));
  }

  // "$1", "${1}" and "${name}" become groups, "$$" a dollar. Groups that do not exist are empty.
  [[nodiscard]] std::string Expand(std::string_view pattern) const {
    std::string text;
    while (!pattern.empty() && text.size() < kLabelBytes) {
      const std::size_t dollar = pattern.find('$');
      text += pattern.substr(0, dollar);
      if (dollar == std::string_view::npos) break;
      pattern.remove_prefix(dollar + 1);
      text += TakeReference(pattern);
    }
    if (text.size() > kLabelBytes) text.resize(kLabelBytes);
    return text;
  }

 private:
  // What stands behind a dollar.
  [[nodiscard]] std::string TakeReference(std::string_view& pattern) const {
    if (pattern.starts_with('$')) return pattern.remove_prefix(1), "$";
    const bool braces = pattern.starts_with('{');
    const std::size_t begin = braces ? 1 : 0;
    std::size_t end = begin;
    while (end < pattern.size() && IsNamePart(pattern[end])) ++end;
    const bool closed = !braces || (end < pattern.size() && pattern[end] == '}');
    if (end == begin || !closed) return "$";
    const std::string_view name = pattern.substr(begin, end - begin);
    pattern.remove_prefix(braces ? end + 1 : end);
    return Group(name);
  }

  [[nodiscard]] std::string Group(std::string_view name) const {
    std::size_t number = texts_.size();
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) {
      const auto& names = regex_.NamedCapturingGroups();
      const auto found = names.find(std::string(name));
      number = found == names.end() ? texts_.size() : static_cast<std::size_t>(found->second);
    }
    return number < texts_.size() ? std::string(texts_[number].data(), texts_[number].size())
                                  : std::string();
  }

  const RE2& regex_;
  std::vector<re2::StringPiece> texts_;
};

void SetLabel(Labels& labels, const std::string& name, std::string value) {
  if (name.empty()) return;
  if (value.empty())
    labels.erase(name);
  else
    labels[name] = std::move(value);
}

Result<void> Check(const RelabelRule& rule) {
  const auto wrong = [](std::string what) {
    return Error{ErrorCode::kInvalidArgument, std::move(what), ""};
  };
  const bool by_value = rule.action == RelabelAction::kReplace ||
                        rule.action == RelabelAction::kKeep || rule.action == RelabelAction::kDrop;
  if (rule.action == RelabelAction::kReplace && rule.target_label.empty())
    return wrong("replace needs a target_label");
  if (!by_value && !rule.source_labels.empty())
    return wrong("labelmap, labeldrop and labelkeep look at names: they take no source_labels");
  if ((rule.action == RelabelAction::kKeep || rule.action == RelabelAction::kDrop) &&
      rule.source_labels.empty())
    return wrong("keep and drop need source_labels");
  return {};
}

}  // namespace

std::string_view NameOf(RelabelAction action) {
  for (const auto& [name, known] : kActions)
    if (known == action) return name;
  return "";
}

std::optional<RelabelAction> ActionNamed(std::string_view name) {
  for (const auto& [known, action] : kActions)
    if (known == name) return action;
  return std::nullopt;
}

Result<Relabelling> Relabelling::Make(std::vector<RelabelRule> rules) {
  Relabelling made;
  for (RelabelRule& rule : rules) {
    PROFD_TRY(Check(rule));
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kRegexBytes);
    options.set_dot_nl(true);
    auto regex = std::make_shared<const RE2>(rule.regex, options);
    if (!regex->ok())
      return Error{ErrorCode::kInvalidArgument,
                   "regex '" + rule.regex + "' is wrong: " + regex->error(), ""};
    made.rules_.push_back({std::move(rule), std::move(regex)});
  }
  return made;
}

std::optional<Labels> Relabelling::Apply(Labels labels) const {
  for (const Compiled& compiled : rules_)
    if (!ApplyOne(compiled, labels)) return std::nullopt;
  std::erase_if(labels, [](const auto& label) {
    return label.first.starts_with("__") || label.second.empty();
  });
  return labels;
}

bool Relabelling::MayDrop() const {
  return std::ranges::any_of(rules_, [](const Compiled& compiled) {
    return compiled.rule.action == RelabelAction::kKeep ||
           compiled.rule.action == RelabelAction::kDrop;
  });
}

// False: the labels are dropped.
bool Relabelling::ApplyOne(const Compiled& compiled, Labels& labels) {
  const RelabelRule& rule = compiled.rule;
  Groups groups(*compiled.regex);
  switch (rule.action) {
    case RelabelAction::kKeep:
      return groups.Match(SourceOf(rule, labels));
    case RelabelAction::kDrop:
      return !groups.Match(SourceOf(rule, labels));
    case RelabelAction::kReplace: {
      const std::string source = SourceOf(rule, labels);
      if (groups.Match(source))
        SetLabel(labels, groups.Expand(rule.target_label), groups.Expand(rule.replacement));
      return true;
    }
    case RelabelAction::kLabelMap: {
      const Labels before = labels;
      for (const auto& [name, value] : before)
        if (groups.Match(name)) SetLabel(labels, groups.Expand(rule.replacement), value);
      return true;
    }
    case RelabelAction::kLabelDrop:
      std::erase_if(labels, [&](const auto& label) { return groups.Match(label.first); });
      return true;
    case RelabelAction::kLabelKeep:
      // What is for rules alone stays: it does not leave the host anyway.
      std::erase_if(labels, [&](const auto& label) {
        return !label.first.starts_with("__") && !groups.Match(label.first);
      });
      return true;
  }
  return true;
}

}  // namespace profd::fleet
