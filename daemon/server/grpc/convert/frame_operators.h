// FrameOperators: which frames run an operator or begin a phase, and what methods are called.
#pragma once

#include <cstdint>
#include <map>

#include "daemon/rules/rule_set.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "profd/v1/profile.pb.h"

namespace profd::server {

// Job: marks the frames of one profile by the rules, and puts their operators into the message.
// Thread: that of the call. Owner: ToProto.
class FrameOperators {
 public:
  // All must outlive this. `rules` null: no frame is marked.
  FrameOperators(const rules::RuleSet* rules, v1::Profile& proto) : rules_(rules), proto_(proto) {}

  // Names it, if it is a method of a known interface.
  static void Name(const rules::RuleSet* rules, const symbolize::Frame& from, v1::Frame& to);
  // Names it, too. Frames of the kernel are never marked: an operator is what user space calls so.
  void Mark(const symbolize::Frame& from, v1::Frame& to);

 private:
  [[nodiscard]] std::uint32_t Add(const rules::FrameOperator& found);

  const rules::RuleSet* const rules_;
  v1::Profile& proto_;
  std::map<rules::FrameOperator, std::uint32_t> numbers_;  // as Frame.op
};

}  // namespace profd::server
