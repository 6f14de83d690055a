#include "daemon/fleet/tables/fleet_stacks.h"

#include <cstddef>
#include <utility>

#include "daemon/base/files.h"
#include "daemon/base/utf8.h"
#include "daemon/fleet/profile/frame_names.h"
#include "daemon/fleet/tables/content_hash.h"

namespace profd::fleet {
namespace {

constexpr std::size_t kMaxNameBytes = 4096;
void AddFrame(const FleetFrame& frame, ContentHash& to) {
  for (const std::string* text : {&frame.function, &frame.module, &frame.file}) to.Text(*text);
  to.Number(static_cast<std::uint64_t>(frame.kind));
}

// Valid UTF-8 of bounded length.
std::string Bounded(std::string_view text) { return ValidUtf8(text.substr(0, kMaxNameBytes)); }

FleetFrame FleetFrameOf(const symbolize::Frame& frame) {
  const bool python = frame.kind == symbolize::FrameKind::kPython;
  return {Bounded(FunctionName(frame)), python ? "" : Bounded(BaseName(frame.module)),
          Bounded(frame.file), frame.kind};
}

}  // namespace

std::uint64_t FleetStackHash(const std::vector<FleetFrame>& frames) {
  ContentHash content;
  for (const FleetFrame& frame : frames) AddFrame(frame, content);
  return content.Hash();
}

std::uint32_t FleetStacks::Of(const ExportRow& row) {
  if (const std::string pseudo = PseudoStack(row); !pseudo.empty()) return Pseudo(pseudo);
  return OfNode(row.node);
}

std::uint32_t FleetStacks::OfNode(std::uint32_t leaf) {
  if (const auto known = profile_nodes_.find(leaf); known != profile_nodes_.end())
    return known->second;
  std::vector<std::uint32_t> frames;
  for (std::uint32_t node = leaf; node != 0 && node < profile_.nodes.size();
       node = profile_.nodes[node].parent) {
    const std::uint32_t index = profile_.nodes[node].frame;
    auto known = profile_frames_.find(index);
    if (known == profile_frames_.end())
      known =
          profile_frames_.emplace(index, FrameNumber(FleetFrameOf(profile_.frames[index]))).first;
    frames.push_back(known->second);
  }
  const std::uint32_t number = Add(std::move(frames));
  profile_nodes_.emplace(leaf, number);
  return number;
}

std::uint32_t FleetStacks::Pseudo(std::string_view name) {
  if (const auto known = pseudo_.find(std::string(name)); known != pseudo_.end())
    return known->second;
  const std::uint32_t number = Add({FrameNumber({.function = std::string(name),
                                                 .module = {},
                                                 .file = {},
                                                 .kind = symbolize::FrameKind::kPseudo})});
  pseudo_.emplace(name, number);
  return number;
}

std::uint32_t FleetStacks::Add(std::vector<std::uint32_t> frames) {
  ContentHash content;
  for (const std::uint32_t number : frames) AddFrame(frames_[number], content);
  const std::uint64_t hash = content.Hash();
  const auto [known, added] = stack_numbers_.emplace(hash, static_cast<std::uint32_t>(all_.size()));
  if (added) all_.push_back({hash, std::move(frames)});
  return known->second;
}

std::uint32_t FleetStacks::FrameNumber(FleetFrame frame) {
  ContentHash content;
  AddFrame(frame, content);
  const auto [known, added] =
      frame_numbers_.emplace(content.bytes(), static_cast<std::uint32_t>(frames_.size()));
  if (added) frames_.push_back(std::move(frame));
  return known->second;
}

}  // namespace profd::fleet
