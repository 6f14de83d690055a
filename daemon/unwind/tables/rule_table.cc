#include "daemon/unwind/tables/rule_table.h"

#include <cstring>
#include <string_view>

namespace profd::unwind {

static_assert(std::has_unique_object_representations_v<profd_unwind_rule>);

std::size_t RuleTable::Hash::operator()(const profd_unwind_rule& rule) const {
  return std::hash<std::string_view>()(
      std::string_view(reinterpret_cast<const char*>(&rule), sizeof rule));
}

bool RuleTable::Equal::operator()(const profd_unwind_rule& a, const profd_unwind_rule& b) const {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

RuleTable::RuleTable(std::span<const profd_unwind_rule> published)
    : rules_(published.begin(), published.end()) {
  if (rules_.empty()) rules_.emplace_back();
  for (std::size_t i = 0; i < rules_.size(); ++i)
    indexes_.try_emplace(rules_[i], static_cast<std::uint16_t>(i));
}

std::uint16_t RuleTable::IndexOf(const profd_unwind_rule& rule) {
  const auto found = indexes_.find(rule);
  if (found != indexes_.end()) return found->second;
  if (rules_.size() >= kMaxRules) {
    ++refused_;
    return 0;
  }
  const auto index = static_cast<std::uint16_t>(rules_.size());
  rules_.push_back(rule);
  indexes_.emplace(rule, index);
  return index;
}

}  // namespace profd::unwind
