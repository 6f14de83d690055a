// StackRules and DumpRules: the rule that decides whether a stack on a CPU works or spins.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/aggregate/dump.h"
#include "daemon/aggregate/profile.h"
#include "daemon/rules/rule_set.h"

namespace profd::aggregate {

// Job: judges the stacks of one profile by the rules. Immutable; any thread. Keeps no reference to
// the profile or the rules.
class StackRules {
 public:
  // `rules` null: no rule decides.
  StackRules(const Profile& profile, const rules::RuleSet* rules);

  struct Decision {
    std::uint32_t rule = 0;  // index into the rules of the set
    std::uint32_t node = 0;  // of the frame that it fits
  };

  // Nothing: no rule decides; so it is where the thread was not on a CPU, and of nodes that the
  // profile does not have.
  [[nodiscard]] std::optional<Decision> Of(const ProfileSample& sample) const;

 private:
  std::vector<std::optional<Decision>> of_node_;  // what decides a stack that ends there
};

// Job: the same of the threads of a dump, which has no tree of stacks. Immutable; any thread. Keeps
// no reference to the rules; the dump must outlive it.
class DumpRules {
 public:
  // `rules` null: no rule decides.
  DumpRules(const Dump& dump, const rules::RuleSet* rules);

  // Index into the rules of the set. Nothing: no rule decides, or the thread is not on a CPU.
  [[nodiscard]] std::optional<std::uint32_t> Of(const DumpThread& thread) const;

 private:
  const Dump& dump_;
  std::vector<rules::FrameRules> of_frame_;  // empty without rules
};

// Whether time on a CPU that a frame of this class decides is spinning.
[[nodiscard]] bool IsSpinning(rules::FrameClass frame_class);

}  // namespace profd::aggregate
