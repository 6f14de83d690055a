#include "client/profile/report/shown_stacks.h"

namespace profd::client {

ShownStacks::ShownStacks(const v1::Profile& profile, bool kernel) : profile_(profile) {
  leaves_.reserve(static_cast<std::size_t>(profile.nodes_size()) + 1);
  leaves_.push_back(0);
  std::vector<bool> has_user{false};  // by node
  for (int i = 0; i < profile.nodes_size(); ++i) {
    const v1::StackNode& node = profile.nodes(i);
    const v1::FrameKind kind = profile.frames(static_cast<int>(node.frame())).kind();
    const bool of_kernel = kind == v1::FRAME_KERNEL;
    const bool user = has_user[node.parent()];
    leaves_.push_back(!kernel && of_kernel && user ? leaves_[node.parent()]
                                                   : static_cast<std::uint32_t>(i) + 1);
    has_user.push_back(user || (!of_kernel && kind != v1::FRAME_PSEUDO));
  }
}

}  // namespace profd::client
