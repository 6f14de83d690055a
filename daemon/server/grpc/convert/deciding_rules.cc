#include "daemon/server/grpc/convert/deciding_rules.h"

#include <string>

#include "daemon/base/utf8.h"

namespace profd::server {
namespace {

static_assert(static_cast<int>(rules::FrameClass::kNone) == v1::CLASS_NONE);
static_assert(static_cast<int>(rules::FrameClass::kSpin) == v1::CLASS_SPIN);
static_assert(static_cast<int>(rules::FrameClass::kGpuWait) == v1::CLASS_GPU_WAIT);
static_assert(static_cast<int>(rules::FrameClass::kRuntime) == v1::CLASS_RUNTIME);
static_assert(static_cast<int>(rules::FrameClass::kCopy) == v1::CLASS_COPY);
static_assert(static_cast<int>(rules::FrameClass::kWork) == v1::CLASS_WORK);

}  // namespace

void Fill(const rules::Rule& from, v1::Rule& to) {
  to.set_frame_class(static_cast<v1::FrameClass>(from.frame_class));
  if (from.function) to.set_function(ValidUtf8(*from.function));
  if (from.module) to.set_module(ValidUtf8(*from.module));
  if (from.file) to.set_file(ValidUtf8(*from.file));
  to.set_leaf(from.leaf);
  to.set_place(ValidUtf8(from.place));
}

DecidingRules::DecidingRules(const aggregate::Profile& profile, const rules::RuleSet* rules,
                             v1::Profile& proto)
    : stacks_(profile, rules),
      rules_(rules),
      proto_(proto),
      numbers_(rules == nullptr ? 0 : rules->rules().size()) {}

DecidingRules::Decision DecidingRules::Of(const aggregate::ProfileSample& sample) {
  // [stolen] has a node that only the message has.
  const auto found = stacks_.Of(sample);
  if (!found) return {};
  return {Add(found->rule), found->node};
}

std::uint32_t DecidingRules::Add(std::uint32_t rule) {
  std::uint32_t& number = numbers_[rule];
  if (number != 0) return number;
  Fill(rules_->rules()[rule], *proto_.add_rules());
  return number = static_cast<std::uint32_t>(proto_.rules_size());
}

}  // namespace profd::server
