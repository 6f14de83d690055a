#include "client/profile/report/report_axis.h"

#include <utility>

namespace profd::client {

ReportAxis::ReportAxis(const ReportKey& key, const KeyContext& context, const ShownStacks& stacks)
    : key_(key),
      operators_(key.by_operators ? std::make_optional<Operators>(context.profile) : std::nullopt),
      context_{context.profile, context.style, operators_ ? &*operators_ : nullptr, key.label,
               context.steps},
      stacks_(stacks) {
  if (!key.OfFrames()) return;
  const auto frames = static_cast<std::size_t>(context.profile.frames_size());
  texts_.resize(frames);
  if (key.kind == ReportKeyKind::kFrame)
    by_frame_.assign(frames, kNone);
  else
    by_node_.assign(stacks.size(), kNone);
}

std::uint32_t ReportAxis::Of(int sample) {
  if (key_.OfFrames()) return OfLeaf(stacks_.Leaf(context_.profile.samples().node(sample)));
  const std::uint64_t number = key_.number(context_, sample);
  const auto known = by_number_.find(number);
  if (known != by_number_.end()) return known->second;
  const std::uint32_t value = Named(key_.text(context_, number), kNone);
  by_number_.emplace(number, value);
  return value;
}

std::uint32_t ReportAxis::OfLeaf(std::uint32_t leaf) {
  if (leaf == 0) {
    if (no_stack_ == kNone) no_stack_ = Named(std::string(kNoStack), kNone);
    return no_stack_;
  }
  if (key_.kind != ReportKeyKind::kCallee) return OfNode(leaf);
  const std::uint32_t frame = stacks_.Frame(leaf);
  const auto known = by_number_.find(frame);
  if (known != by_number_.end()) return known->second;
  const std::uint32_t value = Named(Text(frame) + " > [self]", frame);
  by_number_.emplace(frame, value);
  return value;
}

std::uint32_t ReportAxis::OfNode(std::uint32_t node) {
  const std::uint32_t frame = stacks_.Frame(node);
  if (key_.kind == ReportKeyKind::kFrame) {
    std::uint32_t& value = by_frame_[frame];
    if (value == kNone) value = Named(Text(frame), frame);
    return value;
  }
  std::uint32_t& value = by_node_[node];
  if (value != kNone) return value;
  const std::uint32_t parent = stacks_.Parent(node);
  if (key_.kind == ReportKeyKind::kCallee) {
    if (parent == 0) return kNone;
    return value = Named(Text(stacks_.Frame(parent)) + " > " + Text(frame), frame);
  }
  const std::string caller = parent == 0 ? "[outermost]" : Text(stacks_.Frame(parent));
  return value = Named(Text(frame) + " < " + caller, frame);
}

std::uint32_t ReportAxis::Named(std::string name, std::uint32_t frame) {
  const auto next = static_cast<std::uint32_t>(names_.size());
  const auto [known, added] = by_name_.emplace(std::move(name), next);
  if (added) {
    names_.push_back(known->first);
    frames_.push_back(frame);
  }
  return known->second;
}

const std::string& ReportAxis::Text(std::uint32_t frame) {
  std::string& text = texts_[frame];
  if (text.empty()) text = key_.text(context_, frame);
  return text;
}

}  // namespace profd::client
