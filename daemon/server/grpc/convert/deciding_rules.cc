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

DecidingRules::DecidingRules(const aggregate::Profile& profile, const rules::RuleSet* rules,
                             v1::Profile& proto)
    : rules_(rules), proto_(proto) {
  if (rules == nullptr) return;
  numbers_.resize(rules->rules().size());
  std::vector<rules::FrameRules> of_frame;
  of_frame.reserve(profile.frames.size());
  for (const symbolize::Frame& frame : profile.frames) of_frame.push_back(rules->Find(frame));
  // What decides where the stack goes on in user space. A parent stands before its children.
  std::vector<Found> as_caller(profile.nodes.size());
  of_node_.resize(profile.nodes.size());
  for (std::uint32_t i = 1; i < profile.nodes.size(); ++i) {
    const aggregate::StackNode& node = profile.nodes[i];
    const rules::FrameRules& found = of_frame[node.frame];
    const bool kernel = profile.frames[node.frame].kind == symbolize::FrameKind::kKernel;
    if (found.as_leaf)
      of_node_[i] = {*found.as_leaf, i};
    else
      of_node_[i] = kernel ? of_node_[node.parent] : as_caller[node.parent];
    as_caller[i] = found.as_caller ? Found{*found.as_caller, i} : as_caller[node.parent];
  }
}

DecidingRules::Decision DecidingRules::Of(const aggregate::ProfileSample& sample) {
  // [stolen] has a node that only the message has.
  if (sample.state != process::State::kOnCpu || sample.node >= of_node_.size()) return {};
  const Found& found = of_node_[sample.node];
  if (found.rule == kNone) return {};
  return {Add(found.rule), found.node};
}

std::uint32_t DecidingRules::Add(std::uint32_t rule) {
  std::uint32_t& number = numbers_[rule];
  if (number != 0) return number;
  const rules::Rule& from = rules_->rules()[rule];
  v1::Rule& to = *proto_.add_rules();
  to.set_frame_class(static_cast<v1::FrameClass>(from.frame_class));
  if (from.function) to.set_function(ValidUtf8(*from.function));
  if (from.module) to.set_module(ValidUtf8(*from.module));
  if (from.file) to.set_file(ValidUtf8(*from.file));
  to.set_leaf(from.leaf);
  to.set_place(ValidUtf8(from.place));
  return number = static_cast<std::uint32_t>(proto_.rules_size());
}

}  // namespace profd::server
