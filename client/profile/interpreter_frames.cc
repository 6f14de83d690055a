#include "client/profile/interpreter_frames.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "client/profile/check_profile.h"

namespace profd::client {

std::optional<v1::Profile> WithoutInterpreterFrames(const v1::Profile& profile) {
  if (std::ranges::none_of(profile.frames(), &v1::Frame::interpreter) || !CheckProfile(profile))
    return std::nullopt;
  v1::Profile shown = profile;
  shown.clear_nodes();
  // By the number of a node (0 is the root): its number in `shown`, where parents come first, too.
  std::vector<std::uint32_t> numbers{0};
  for (const v1::StackNode& node : profile.nodes()) {
    const std::uint32_t parent = numbers[node.parent()];
    if (profile.frames(static_cast<int>(node.frame())).interpreter()) {
      numbers.push_back(parent);
      continue;
    }
    v1::StackNode& kept = *shown.add_nodes();
    kept.set_parent(parent);
    kept.set_frame(node.frame());
    numbers.push_back(static_cast<std::uint32_t>(shown.nodes_size()));
  }
  for (std::uint32_t& node : *shown.mutable_samples()->mutable_node()) node = numbers[node];
  return shown;
}

}  // namespace profd::client
