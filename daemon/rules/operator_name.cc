#include "daemon/rules/operator_name.h"

#include <algorithm>
#include <utility>

#include "daemon/rules/pattern.h"

namespace profd::rules {
namespace {

Error Wrong(std::string what) { return Error{ErrorCode::kInvalidArgument, std::move(what), ""}; }

Error NoSuchGroup(const std::string& group) {
  std::string text = "{";
  text.append(group).append("} needs a group (?P<").append(group).append(">...) in function");
  return Wrong(std::move(text));
}

}  // namespace

Result<OperatorName> OperatorName::Parse(std::string_view text, const std::string& function) {
  if (text.empty()) return Wrong("it is empty");
  auto pattern = std::make_shared<const RE2>(function, CapturingOptions());
  const auto& groups = pattern->NamedCapturingGroups();
  OperatorName name;
  while (!text.empty()) {
    const std::size_t brace = text.find_first_of("{}");
    Part part{.text = std::string(text.substr(0, brace))};
    text.remove_prefix(std::min(brace, text.size()));
    if (!text.empty()) {
      const std::size_t end = text.find_first_of("{}", 1);
      if (text.front() == '}' || end == std::string_view::npos || text[end] == '{')
        return Wrong("a brace has no partner");
      const std::string group(text.substr(1, end - 1));
      const auto known = groups.find(group);
      if (known == groups.end()) return NoSuchGroup(group);
      part.group = known->second;
      text.remove_prefix(end + 1);
      name.function_ = pattern;
    }
    name.parts_.push_back(std::move(part));
  }
  return name;
}

std::string OperatorName::Of(const std::string& name) const {
  std::vector<re2::StringPiece> groups;
  if (function_) {
    groups.resize(static_cast<std::size_t>(function_->NumberOfCapturingGroups()) + 1);
    if (!function_->Match(name, 0, name.size(), RE2::ANCHOR_BOTH, groups.data(),
                          static_cast<int>(groups.size())))
      return "";
  }
  std::string text;
  for (const Part& part : parts_) {
    text += part.text;
    if (part.group == 0) continue;
    const re2::StringPiece& group = groups[static_cast<std::size_t>(part.group)];
    text.append(group.data() == nullptr ? "" : group.data(), group.size());
  }
  return text;
}

}  // namespace profd::rules
