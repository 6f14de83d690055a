// RuleSet: the rules of all files, compiled.
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/rules/operator_name.h"
#include "daemon/rules/pattern_set.h"
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

// What a frame runs, as the rules name it.
struct FrameOperator {
  std::string name;
  std::uint32_t rank = 0;
  friend auto operator<=>(const FrameOperator&, const FrameOperator&) = default;
};

// Job: finds what the rules say of a frame. Immutable; any thread. Each question is one pass over
// the name for all rules of its kind together, so ask once for each distinct frame.
class RuleSet {
 public:
  // As ParseRules returns them. kExhausted: they need too much memory together.
  [[nodiscard]] static Result<RuleSetRef> Make(Rules rules);
  // The rules of `file` ("": none), then those that profd ships with, so that the file wins. The
  // errors of ReadRuleFile.
  [[nodiscard]] static Result<RuleSetRef> Load(const std::string& file);

  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_.classes; }
  // Each the first that matches. A frame without a name has only the rules with function = ''. One
  // that has a method is looked up by this name first, then by its own.
  [[nodiscard]] FrameRules Find(const symbolize::Frame& frame) const;
  // By the first rule that matches and does not deny the name that it gives.
  [[nodiscard]] std::optional<FrameOperator> FindOperator(const symbolize::Frame& frame) const;
  // By the first rule that matches.
  [[nodiscard]] Phase FindPhase(const symbolize::Frame& frame) const;
  // What "Class::(virtual 2)" is called with the name of the method: "Class::Compute". By the first
  // rule for an interface that the vtable of the class begins with, or for the class itself.
  [[nodiscard]] std::optional<std::string> FindMethod(const symbolize::Frame& frame) const;

 private:
  struct Naming {  // by a rule for operators
    OperatorName name;
    std::vector<std::unique_ptr<const RE2>> deny;
  };

  struct Method {
    std::unique_ptr<const RE2> interface;
    std::uint32_t place_in_vtable = 0;
    std::string name;
  };

  explicit RuleSet(Rules rules) : rules_(std::move(rules)) {}
  [[nodiscard]] Result<void> Compile();
  // Under the name of its method; nothing: it has none.
  [[nodiscard]] std::optional<symbolize::Frame> AsMethod(const symbolize::Frame& frame) const;
  [[nodiscard]] FrameRules FindByName(const symbolize::Frame& frame) const;
  [[nodiscard]] std::optional<FrameOperator> FindOperatorByName(
      const symbolize::Frame& frame) const;
  [[nodiscard]] Phase FindPhaseByName(const symbolize::Frame& frame) const;

  const Rules rules_;
  PatternSetRef classes_;
  PatternSetRef operators_;
  PatternSetRef phases_;
  std::vector<Naming> namings_;
  std::vector<Method> methods_;
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
