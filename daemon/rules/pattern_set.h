// PatternSet: which frames the rules of one kind are for, compiled.
#pragma once

#include <re2/re2.h>
#include <re2/set.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/rules/rule_file.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::rules {

class PatternSet;
using PatternSetRef = std::unique_ptr<const PatternSet>;

// Job: finds the rules of a frame. Immutable; any thread. Owner: RuleSet. One question is one pass
// over the name for all patterns together, so ask once for each distinct frame.
class PatternSet {
 public:
  // As ParseRules returns them. kExhausted: they need too much memory together.
  [[nodiscard]] static Result<PatternSetRef> Make(std::vector<FramePattern> patterns);

  // Indexes of patterns, the first one first. A frame without a name has only those with
  // function = ''.
  [[nodiscard]] std::vector<std::uint32_t> Matches(const symbolize::Frame& frame) const;

 private:
  struct Places {  // of one pattern; null: matches everything
    std::unique_ptr<RE2> module;
    std::unique_ptr<RE2> file;
  };

  explicit PatternSet(std::vector<FramePattern> patterns);
  [[nodiscard]] std::vector<int> FunctionMatches(const std::string& name) const;
  [[nodiscard]] bool PlacesMatch(std::size_t pattern, const symbolize::Frame& frame) const;

  const std::vector<FramePattern> patterns_;
  RE2::Set functions_;  // of each pattern
  std::vector<Places> places_;
};

}  // namespace profd::rules
