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

  struct Decision {
    std::uint32_t rule = 0;  // 1 + index into the rules of the message; 0: none decides
    std::uint32_t node = 0;  // of the frame that it fits; 0 without a rule
  };

  // None decides where the thread was not on a CPU.
  [[nodiscard]] Decision Of(const aggregate::ProfileSample& sample);

 private:
  static constexpr std::uint32_t kNone = ~0u;

  // `rule` is an index into those of the rule set, or kNone.
  struct Found {
    std::uint32_t rule = kNone;
    std::uint32_t node = 0;
  };

  [[nodiscard]] std::uint32_t Add(std::uint32_t rule);

  const rules::RuleSet* const rules_;
  v1::Profile& proto_;
  std::vector<Found> of_node_;          // what decides a stack that ends there
  std::vector<std::uint32_t> numbers_;  // by rule: as Of returns it; 0: not in the message yet
};

}  // namespace profd::server
