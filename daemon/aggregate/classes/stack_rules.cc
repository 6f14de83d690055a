#include "daemon/aggregate/classes/stack_rules.h"

namespace profd::aggregate {

StackRules::StackRules(const Profile& profile, const rules::RuleSet* rules) {
  if (rules == nullptr) return;
  std::vector<rules::FrameRules> of_frame;
  of_frame.reserve(profile.frames.size());
  for (const symbolize::Frame& frame : profile.frames) of_frame.push_back(rules->Find(frame));
  // What decides where the stack goes on in user space. A parent stands before its children.
  std::vector<std::optional<Decision>> as_caller(profile.nodes.size());
  of_node_.resize(profile.nodes.size());
  for (std::uint32_t i = 1; i < profile.nodes.size(); ++i) {
    const StackNode& node = profile.nodes[i];
    const rules::FrameRules& found = of_frame[node.frame];
    const bool kernel = profile.frames[node.frame].kind == symbolize::FrameKind::kKernel;
    if (found.as_leaf)
      of_node_[i] = Decision{*found.as_leaf, i};
    else
      of_node_[i] = kernel ? of_node_[node.parent] : as_caller[node.parent];
    as_caller[i] = found.as_caller ? Decision{*found.as_caller, i} : as_caller[node.parent];
  }
}

std::optional<StackRules::Decision> StackRules::Of(const ProfileSample& sample) const {
  if (sample.state != process::State::kOnCpu || sample.node >= of_node_.size()) return {};
  return of_node_[sample.node];
}

DumpRules::DumpRules(const Dump& dump, const rules::RuleSet* rules) : dump_(dump) {
  if (rules == nullptr) return;
  of_frame_.reserve(dump.frames.size());
  for (const symbolize::Frame& frame : dump.frames) of_frame_.push_back(rules->Find(frame));
}

std::optional<std::uint32_t> DumpRules::Of(const DumpThread& thread) const {
  if (thread.state != process::State::kOnCpu || of_frame_.empty()) return {};
  bool is_caller = false;  // a frame of user space has been passed
  for (const std::uint32_t index : thread.frames) {
    const rules::FrameRules& found = of_frame_[index];
    if (const auto& rule = is_caller ? found.as_caller : found.as_leaf) return rule;
    is_caller = is_caller || dump_.frames[index].kind != symbolize::FrameKind::kKernel;
  }
  return {};
}

bool IsSpinning(rules::FrameClass frame_class) {
  return frame_class == rules::FrameClass::kSpin || frame_class == rules::FrameClass::kGpuWait;
}

}  // namespace profd::aggregate
