#include "daemon/fleet/targets/stack_locations.h"

#include <utility>

namespace profd::fleet {

std::vector<std::uint32_t> StackLocations::Of(std::uint32_t node) {
  std::vector<std::uint32_t> locations;
  const auto frame_at = [&](std::uint32_t index) -> const symbolize::Frame& {
    return profile_.frames[index];
  };
  while (node != 0 && node < profile_.nodes.size()) {
    std::vector<std::uint32_t> frames;
    for (bool inlined = true; inlined && node != 0;) {
      const aggregate::StackNode& at = profile_.nodes[node];
      const symbolize::Frame& frame = frame_at(at.frame);
      // An inlined frame without its outer one stays by itself.
      if (!frames.empty() && (frame.module != frame_at(frames[0]).module ||
                              frame.offset != frame_at(frames[0]).offset))
        break;
      frames.push_back(at.frame);
      inlined = frame.inlined;
      node = at.parent;
    }
    const auto next = static_cast<std::uint32_t>(all_.size());
    const auto [known, added] = numbers_.emplace(frames, next);
    if (added) all_.push_back(std::move(frames));
    locations.push_back(known->second);
  }
  return locations;
}

}  // namespace profd::fleet
