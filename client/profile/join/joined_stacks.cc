#include "client/profile/join/joined_stacks.h"

#include <algorithm>

namespace profd::client {
namespace {

using google::protobuf::RepeatedPtrField;

template <typename Message>
std::string KeyOf(const Message& message) {
  return message.SerializeAsString();
}

std::string KeyOf(const std::string& text) { return text; }

std::string KeyOf(const v1::Module& module) {
  v1::Module key = module;
  key.clear_code_covered_bytes();
  key.clear_code_bare_bytes();
  key.clear_code_refused();
  return key.SerializeAsString();
}

std::string KeyOf(const v1::Frame& frame) {
  if (frame.kind() != v1::FRAME_KERNEL || frame.name().empty()) return frame.SerializeAsString();
  v1::Frame key = frame;
  key.clear_offset();
  return key.SerializeAsString();
}

std::uint64_t NodeKey(std::uint32_t parent, std::uint32_t frame) {
  return std::uint64_t{parent} << 32 | frame;
}

template <typename Message, typename Places>
void Learn(const RepeatedPtrField<Message>& all, Places& places) {
  for (int i = 0; i < all.size(); ++i)
    places.try_emplace(KeyOf(all[i]), static_cast<std::uint32_t>(i));
}

// The number of an equal entry, or of a new one.
template <typename Message, typename Places>
std::uint32_t Place(const Message& message, RepeatedPtrField<Message>& all, Places& places) {
  const auto next = static_cast<std::uint32_t>(all.size());
  const auto [known, is_new] = places.try_emplace(KeyOf(message), next);
  if (is_new) *all.Add() = message;
  return known->second;
}

template <typename Message, typename Places>
std::vector<std::uint32_t> Place(const RepeatedPtrField<Message>& from,
                                 RepeatedPtrField<Message>& all, Places& places) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(static_cast<std::size_t>(from.size()));
  for (const Message& message : from) numbers.push_back(Place(message, all, places));
  return numbers;
}

// Numbers from 1 on, where 0 is none.
std::vector<std::uint32_t> FromOne(const std::vector<std::uint32_t>& from_zero) {
  std::vector<std::uint32_t> numbers{0};
  numbers.reserve(from_zero.size() + 1);
  for (const std::uint32_t number : from_zero) numbers.push_back(number + 1);
  return numbers;
}

}  // namespace

void JoinedStacks::Begin() {
  Learn(joined_.modules(), modules_);
  Learn(joined_.operators(), operators_);
  Learn(joined_.frames(), frames_);
  Learn(joined_.rules(), rules_);
  Learn(joined_.label_sets(), label_sets_);
  Learn(joined_.step_sources(), sources_);
  Learn(joined_.step_names(), names_);
  for (int i = 0; i < joined_.paths_size(); ++i)
    paths_.try_emplace(KeyOf(joined_.paths(i)), static_cast<std::uint32_t>(i) + 1);
  for (int i = 0; i < joined_.nodes_size(); ++i)
    nodes_.try_emplace(NodeKey(joined_.nodes(i).parent(), joined_.nodes(i).frame()),
                       static_cast<std::uint32_t>(i) + 1);
}

std::uint32_t JoinedStacks::Module(const v1::Module& module) {
  const int before = joined_.modules_size();
  const std::uint32_t place = Place(module, *joined_.mutable_modules(), modules_);
  if (joined_.modules_size() != before) return place;
  v1::Module& known = *joined_.mutable_modules(static_cast<int>(place));
  known.set_code_covered_bytes(std::max(known.code_covered_bytes(), module.code_covered_bytes()));
  known.set_code_bare_bytes(std::max(known.code_bare_bytes(), module.code_bare_bytes()));
  if (known.code_refused_size() == 0) *known.mutable_code_refused() = module.code_refused();
  return place;
}

std::vector<std::uint32_t> JoinedStacks::Modules(const v1::Profile& profile) {
  std::vector<std::uint32_t> numbers{0};
  for (const v1::Module& module : profile.modules()) numbers.push_back(Module(module) + 1);
  return numbers;
}

std::vector<std::uint32_t> JoinedStacks::Frames(const v1::Profile& profile) {
  const std::vector<std::uint32_t> modules = Modules(profile);
  const std::vector<std::uint32_t> operators =
      FromOne(Place(profile.operators(), *joined_.mutable_operators(), operators_));
  std::vector<std::uint32_t> numbers;
  numbers.reserve(static_cast<std::size_t>(profile.frames_size()));
  for (v1::Frame frame : profile.frames()) {
    frame.set_module_info(modules[frame.module_info()]);
    frame.set_op(operators[frame.op()]);
    numbers.push_back(Place(frame, *joined_.mutable_frames(), frames_));
  }
  return numbers;
}

StackPlaces JoinedStacks::Add(const v1::Profile& profile) {
  const std::vector<std::uint32_t> frames = Frames(profile);
  StackPlaces places;
  places.node = {0};
  places.node.reserve(static_cast<std::size_t>(profile.nodes_size()) + 1);
  for (const v1::StackNode& node : profile.nodes()) {
    const std::uint32_t parent = places.node[node.parent()];
    const std::uint32_t frame = frames[node.frame()];
    const auto next = static_cast<std::uint32_t>(joined_.nodes_size()) + 1;
    const auto [known, is_new] = nodes_.try_emplace(NodeKey(parent, frame), next);
    places.node.push_back(known->second);
    if (!is_new) continue;
    v1::StackNode& added = *joined_.add_nodes();
    added.set_parent(parent);
    added.set_frame(frame);
  }
  places.rule = FromOne(Place(profile.rules(), *joined_.mutable_rules(), rules_));
  places.labels = FromOne(Place(profile.label_sets(), *joined_.mutable_label_sets(), label_sets_));
  places.source = Place(profile.step_sources(), *joined_.mutable_step_sources(), sources_);
  places.name = Place(profile.step_names(), *joined_.mutable_step_names(), names_);
  return places;
}

std::uint32_t JoinedStacks::Path(const v1::PathNode& path) {
  const auto next = static_cast<std::uint32_t>(joined_.paths_size()) + 1;
  const auto [known, is_new] = paths_.try_emplace(KeyOf(path), next);
  if (is_new) *joined_.add_paths() = path;
  return known->second;
}

}  // namespace profd::client
