// DecidingRules: the rules that decide whether stacks on a CPU work or spin, in the message.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/aggregate/classes/stack_rules.h"
#include "daemon/aggregate/profile.h"
#include "daemon/rules/rule_set.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {

void Fill(const rules::Rule& from, v1::Rule& to);

// Job: judges the stacks of one profile by the rules, and puts the rules that have decided into the
// message. Thread: that of the call. Owner: ToProto.
class DecidingRules {
 public:
  // All must outlive this. `rules` null: no rule decides.
  DecidingRules(const aggregate::Profile& profile, const rules::RuleSet* rules, v1::Profile& proto);

  struct Decision {
    std::uint32_t rule = 0;  // 1 + index into the rules of the message; 0: none decides
    std::uint32_t node = 0;  // of the frame that it fits; 0 without a rule
  };

  [[nodiscard]] Decision Of(const aggregate::ProfileSample& sample);

 private:
  [[nodiscard]] std::uint32_t Add(std::uint32_t rule);

  const aggregate::StackRules stacks_;
  const rules::RuleSet* const rules_;
  v1::Profile& proto_;
  std::vector<std::uint32_t> numbers_;  // by rule: as Of returns it; 0: not in the message yet
};

}  // namespace profd::server
