// SampleFilter: an expression that says which samples of a profile are wanted.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct FilterNode;
struct StepLoop;

// function = f and not (state = blocked or module ~ "libc.*")
//
//   EXPR  := TERM { or TERM }      TERM := ITEM { and ITEM }
//   ITEM  := not ITEM | ( EXPR ) | FIELD OPERATOR VALUE | label:NAME OPERATOR VALUE
//
// OPERATOR is =, != or ~ (a regular expression of RE2 that fits a part of the text). A VALUE is a
// word, or stands in quotes. A sample has a function, module or file if any frame of its stack has,
// and `!=` says that none has. It has one operator, one phase and one value of a label, or none:
// the label of its thread, else of its process. `time` takes seconds since the start of the
// profile: 2..5, 2.. or
// ..5, in which a sample begins; `step` takes numbers of steps: 12, 3..5, 3.. or ..5, and what all
// threads do meanwhile. Immutable; may be copied.
class SampleFilter {
 public:
  // kInvalidArgument says at which character what is wrong.
  [[nodiscard]] static Result<SampleFilter> Parse(std::string_view text);

  // The profile, which has passed CheckProfile, with the samples that fit, and all its threads.
  // kNotFound: none fits. kUnsupported: it has no time for each sample. `steps`: of this profile;
  // null: none are known.
  [[nodiscard]] Result<v1::Profile> Apply(v1::Profile profile,
                                          const StepLoop* steps = nullptr) const;
  [[nodiscard]] bool NeedsSteps() const;

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  SampleFilter(std::string text, std::shared_ptr<const FilterNode> root)
      : text_(std::move(text)), root_(std::move(root)) {}

  std::string text_;
  std::shared_ptr<const FilterNode> root_;
};

}  // namespace profd::client
