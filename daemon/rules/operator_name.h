// OperatorName: the template of a rule that names operators, "aten::{op}".
#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/base/result.h"

namespace profd::rules {

// Job: makes the name of an operator out of the name of a function. {op} is what the group
// (?P<op>...) of the pattern matches, and nothing where it matches nothing. Immutable; any thread.
class OperatorName {
 public:
  // `function` is the pattern, which compiles. kInvalidArgument: the template has a brace without
  // its partner, a group that the pattern does not have, or no text.
  [[nodiscard]] static Result<OperatorName> Parse(std::string_view text,
                                                  const std::string& function);

  // `name` has to match the pattern; "" when it does not.
  [[nodiscard]] std::string Of(const std::string& name) const;

 private:
  struct Part {
    std::string text;  // before the group
    int group = 0;     // 0: none
  };

  OperatorName() = default;

  std::shared_ptr<const RE2> function_;  // null: the template has no groups
  std::vector<Part> parts_;
};

}  // namespace profd::rules
