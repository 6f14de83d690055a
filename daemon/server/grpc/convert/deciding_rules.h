// DecidingRules: the rule that decides whether a stack on a CPU works or spins.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/rules/rule_set.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {

// Job: judges the stacks of one profile by the rules, and puts the rules that have decided into the
// message. Thread: that of the call. Owner: ToProto.
class DecidingRules {
 public:
  // All must outlive this. `rules` null: no rule decides.
  DecidingRules(const aggregate::Profile& profile, const rules::RuleSet* rules, v1::Profile& proto);

  // 1 + index into the rules of the message; 0: none decides, or the thread was not on a CPU.
  [[nodiscard]] std::uint32_t Of(const aggregate::ProfileSample& sample);

 private:
  static constexpr std::uint32_t kNone = ~0u;

  [[nodiscard]] std::uint32_t Add(std::uint32_t rule);

  const rules::RuleSet* const rules_;
  v1::Profile& proto_;
  std::vector<std::uint32_t> of_node_;  // the rule of a stack that ends there, or kNone
  std::vector<std::uint32_t> numbers_;  // by rule: as Of returns it; 0: not in the message yet
};

}  // namespace profd::server
