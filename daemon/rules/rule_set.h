// RuleSet: the rules of all files, compiled.
#pragma once

#include <re2/re2.h>
#include <re2/set.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/rules/rule_file.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::rules {

class RuleSet;
using RuleSetRef = std::shared_ptr<const RuleSet>;

// Indexes of rules; none: no rule matches.
struct FrameRules {
  std::optional<std::uint32_t> as_leaf;    // where no other frame of user space has been called
  std::optional<std::uint32_t> as_caller;  // everywhere else: not one of a leaf
};

// Job: finds the rule of a frame. Immutable; any thread. One question is one pass over the name for
// all rules together, so ask once for each distinct frame.
class RuleSet {
 public:
  // As ParseRules returns them. kExhausted: they need too much memory together.
  [[nodiscard]] static Result<RuleSetRef> Make(std::vector<Rule> rules);
  // The rules of `file` ("": none), then those that profd ships with, so that the file wins. The
  // errors of ReadRuleFile.
  [[nodiscard]] static Result<RuleSetRef> Load(const std::string& file);

  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }
  // Each the first that matches. A frame without a name has only the rules with function = ''.
  [[nodiscard]] FrameRules Find(const symbolize::Frame& frame) const;

 private:
  struct Patterns {  // of one rule; null: matches everything
    std::unique_ptr<RE2> module;
    std::unique_ptr<RE2> file;
  };

  explicit RuleSet(std::vector<Rule> rules);
  [[nodiscard]] std::vector<int> FunctionMatches(const std::string& name) const;
  [[nodiscard]] bool PlacesMatch(std::size_t rule, const symbolize::Frame& frame) const;

  const std::vector<Rule> rules_;
  RE2::Set functions_;  // a pattern for each rule
  std::vector<Patterns> places_;
};

// Job: the rules of now, which a reload replaces. Any thread. Owner: main(). Never null.
class CurrentRules {
 public:
  explicit CurrentRules(RuleSetRef rules) : rules_(std::move(rules)) {}
  [[nodiscard]] RuleSetRef Get() const {
    const std::scoped_lock lock(mutex_);
    return rules_;
  }
  void Set(RuleSetRef rules) {
    const std::scoped_lock lock(mutex_);
    rules_ = std::move(rules);
  }

 private:
  mutable std::mutex mutex_;
  RuleSetRef rules_;
};

}  // namespace profd::rules
