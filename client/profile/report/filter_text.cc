#include "client/profile/report/filter_text.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "client/profile/labels/label_values.h"
#include "client/profile/report/report_time.h"
#include "client/profile/stack_names.h"
#include "client/profile/wait_reasons.h"

namespace profd::client {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxBytes = 4096;

struct FieldName {
  std::string_view name;
  FilterField field;
};
constexpr std::array kFields{
    FieldName{"function", FilterField::kFunction}, FieldName{"module", FilterField::kModule},
    FieldName{"file", FilterField::kFile},         FieldName{"thread", FilterField::kThread},
    FieldName{"process", FilterField::kProcess},   FieldName{"operator", FilterField::kOperator},
    FieldName{"phase", FilterField::kPhase},       FieldName{"state", FilterField::kState},
    FieldName{"wait", FilterField::kWait},         FieldName{"time", FilterField::kTime},
    FieldName{"step", FilterField::kStep}};

enum class TokenKind { kWord, kQuoted, kOperator, kOpen, kClose, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text = {};
  std::size_t at = 1;  // character, from 1 on
};

Error WrongAt(std::size_t at, const std::string& what, std::string hint) {
  return Error{ErrorCode::kInvalidArgument,
               "--filter, character " + std::to_string(at) + ": " + what, std::move(hint)};
}

std::string Shown(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end";
  return "'" + SafeName(token.text) + "'";
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool EndsWord(char c) {
  return IsSpace(c) || c == '(' || c == ')' || c == '=' || c == '!' || c == '~' || c == '"' ||
         c == '\'';
}

Result<std::vector<Token>> TokensOf(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    const std::size_t begin = at++;
    if (IsSpace(c)) continue;
    Token token{TokenKind::kWord, std::string(1, c), begin + 1};
    if (c == '(' || c == ')') {
      token.kind = c == '(' ? TokenKind::kOpen : TokenKind::kClose;
    } else if (c == '=' || c == '~') {
      token.kind = TokenKind::kOperator;
    } else if (c == '!') {
      if (at == text.size() || text[at] != '=')
        return WrongAt(begin + 1, "'!' is no operator", "the operators are =, != and ~");
      ++at;
      token = {TokenKind::kOperator, "!=", begin + 1};
    } else if (c == '"' || c == '\'') {
      const std::size_t end = text.find(c, at);
      if (end == std::string_view::npos)
        return WrongAt(begin + 1, "the text that begins here has no end",
                       "it ends with the quote that it begins with");
      token = {TokenKind::kQuoted, std::string(text.substr(at, end - at)), begin + 1};
      at = end + 1;
    } else {
      while (at < text.size() && !EndsWord(text[at])) ++at;
      token.text = text.substr(begin, at - begin);
    }
    tokens.push_back(std::move(token));
  }
  tokens.push_back({TokenKind::kEnd, "", text.size() + 1});
  return tokens;
}

std::optional<std::uint64_t> Nanoseconds(std::string_view seconds) {
  constexpr double kMost = 1e9;
  double value = 0;
  const auto [end, error] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
  if (error != std::errc{} || end != seconds.data() + seconds.size()) return std::nullopt;
  if (!(value >= 0 && value <= kMost)) return std::nullopt;
  return static_cast<std::uint64_t>(value * 1e9);
}

Result<void> ParseTimes(const Token& value, FilterNode& node) {
  const Error wrong =
      WrongAt(value.at, Shown(value) + " is no range of times",
              "it is in seconds since the start of the profile: time = 2..5, 2.. or ..5");
  const std::string_view text = value.text;
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos || text.size() == 2) return wrong;
  const std::string_view from = text.substr(0, dots);
  const std::string_view to = text.substr(dots + 2);
  const auto from_ns = from.empty() ? 0 : Nanoseconds(from);
  const auto to_ns = to.empty() ? std::numeric_limits<std::uint64_t>::max() : Nanoseconds(to);
  if (!from_ns || !to_ns) return wrong;
  if (*from_ns >= *to_ns)
    return WrongAt(value.at, "the range " + Shown(value) + " is empty",
                   "the earlier time stands first");
  node.from_ns = *from_ns;
  node.to_ns = *to_ns;
  return {};
}

std::optional<std::uint32_t> StepIn(std::string_view text) {
  std::uint32_t step = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  if (error != std::errc{} || end != text.data() + text.size() || step == 0) return std::nullopt;
  return step;
}

Result<void> ParseSteps(const Token& value, FilterNode& node) {
  const std::string_view text = value.text;
  const std::size_t dots = text.find("..");
  const std::string_view first = text.substr(0, dots);
  const std::string_view last = dots == std::string_view::npos ? first : text.substr(dots + 2);
  const auto first_step = first.empty() ? 1 : StepIn(first);
  const auto last_step = last.empty() ? std::numeric_limits<std::uint32_t>::max() : StepIn(last);
  if (!first_step || !last_step || (first.empty() && last.empty()))
    return WrongAt(value.at, Shown(value) + " is no step",
                   "they have numbers from 1 on: step = 12, 3..5, 3.. or ..5");
  if (*first_step > *last_step)
    return WrongAt(value.at, "the range " + Shown(value) + " is empty",
                   "the earlier step stands first");
  node.first_step = *first_step;
  node.last_step = *last_step;
  return {};
}

// States and reasons are known: one that is not is a slip.
Result<void> CheckValue(const Token& value, const FilterNode& node) {
  std::vector<std::string> known;
  if (node.field == FilterField::kState) {
    known.emplace_back("running");
    for (std::size_t i = 0; i < kParts; ++i) known.emplace_back(PartName(static_cast<TimePart>(i)));
  } else if (node.field == FilterField::kWait) {
    for (const WaitReasonEntry& entry : WaitReasons())
      if (entry.reason != v1::WAIT_NONE) known.emplace_back(entry.name());
  } else {
    return {};
  }
  if (std::ranges::find(known, value.text) != known.end()) return {};
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  const char* what = node.field == FilterField::kState ? " is no state" : " is no reason of a wait";
  return WrongAt(value.at, Shown(value) + what, "there are " + names);
}

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  using Parsed = Result<std::unique_ptr<FilterNode>>;

  Parsed Parse() {
    Parsed root = Joined(0);
    if (!root) return root;
    if (Now().kind == TokenKind::kClose)
      return WrongAt(Now().at, "')' closes nothing", "a '(' is missing before it");
    if (Now().kind != TokenKind::kEnd)
      return WrongAt(Now().at, "'and' or 'or' is missing before " + Shown(Now()),
                     "a value with spaces stands in quotes");
    return root;
  }

 private:
  [[nodiscard]] const Token& Now() const { return tokens_[next_]; }
  [[nodiscard]] bool IsWord(std::string_view word) const {
    return Now().kind == TokenKind::kWord && Now().text == word;
  }
  // The token, and past it; the end is never passed.
  Token Take() {
    Token token = Now();
    if (token.kind != TokenKind::kEnd) ++next_;
    return token;
  }

  // Items joined by `and`, these by `or`.
  Parsed Joined(std::size_t depth) { return List(depth, FilterNode::Kind::kOr); }

  Parsed List(std::size_t depth, FilterNode::Kind kind) {
    const bool is_or = kind == FilterNode::Kind::kOr;
    auto list = std::make_unique<FilterNode>();
    list->kind = kind;
    do {
      Parsed part = is_or ? List(depth, FilterNode::Kind::kAnd) : Item(depth);
      if (!part) return part;
      list->parts.push_back(*std::move(part));
      if (!IsWord(is_or ? "or" : "and")) break;
      Take();
    } while (true);
    if (list->parts.size() == 1) return std::move(list->parts.front());
    return list;
  }

  Parsed Item(std::size_t depth) {
    if (depth == kMaxDepth)
      return WrongAt(Now().at, "there are too many parentheses inside of each other", "");
    if (IsWord("not")) {
      Take();
      Parsed inner = Item(depth + 1);
      if (!inner) return inner;
      auto node = std::make_unique<FilterNode>();
      node->kind = FilterNode::Kind::kNot;
      node->parts.push_back(*std::move(inner));
      return node;
    }
    if (Now().kind != TokenKind::kOpen) return Comparison();
    const std::size_t open = Take().at;
    Parsed inner = Joined(depth + 1);
    if (!inner) return inner;
    if (Now().kind != TokenKind::kClose)
      return WrongAt(Now().at, "')' is missing before " + Shown(Now()),
                     "the '(' is character " + std::to_string(open));
    Take();
    return inner;
  }

  Parsed Comparison() {
    const Token name = Take();
    const auto* field = std::ranges::find(kFields, name.text, &FieldName::name);
    const std::string_view label = LabelNamedBy(name.text);
    if (name.kind != TokenKind::kWord || (field == kFields.end() && label.empty())) {
      std::string names;
      for (const FieldName& one : kFields)
        names += (names.empty() ? "" : ", ") + std::string(one.name);
      return WrongAt(name.at, Shown(name) + " is no field",
                     "the fields are " + names + " and label:NAME");
    }
    const Token op = Take();
    if (op.kind != TokenKind::kOperator)
      return WrongAt(op.at, "an operator is missing before " + Shown(op),
                     "the operators are =, != and ~");
    const Token value = Take();
    if (value.kind != TokenKind::kWord && value.kind != TokenKind::kQuoted)
      return WrongAt(value.at, "a value is missing before " + Shown(value),
                     "a text with spaces or signs stands in quotes");
    auto node = std::make_unique<FilterNode>();
    node->field = label.empty() ? field->field : FilterField::kLabel;
    node->label = label;
    PROFD_TRY(Compare(op, value, *node));
    return node;
  }

  static Result<void> Compare(const Token& op, const Token& value, FilterNode& node) {
    if (node.field == FilterField::kTime) {
      if (op.text != "=")
        return WrongAt(op.at, "time has no operator '" + op.text + "'", "as in time = 2..5");
      return ParseTimes(value, node);
    }
    node.negated = op.text == "!=";
    if (node.field == FilterField::kStep) {
      if (op.text == "~")
        return WrongAt(op.at, "step has no operator '~'", "as in step = 3..5 or step != 1");
      return ParseSteps(value, node);
    }
    if (op.text != "~") {
      node.value = value.text;
      return CheckValue(value, node);
    }
    RE2::Options options;
    options.set_log_errors(false);
    auto pattern = std::make_shared<const RE2>(value.text, options);
    if (!pattern->ok())
      return WrongAt(value.at,
                     Shown(value) + " is no regular expression: " + SafeName(pattern->error()), "");
    node.pattern = std::move(pattern);
    return {};
  }

  const std::vector<Token> tokens_;
  std::size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<FilterNode>> ParseFilter(std::string_view text) {
  if (text.size() > kMaxBytes)
    return Error{ErrorCode::kInvalidArgument,
                 "--filter is longer than " + std::to_string(kMaxBytes) + " bytes", ""};
  auto tokens = TokensOf(text);
  if (!tokens) return tokens.error();
  return Parser(*std::move(tokens)).Parse();
}

}  // namespace profd::client
