// ShownStacks: the stacks of a profile as reports count them.
#pragma once

#include <cstdint>
#include <vector>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// What the kernel does for a function of a program is part of that function, unless kernel
// functions are wanted. Immutable; the profile has passed CheckProfile and outlives this.
class ShownStacks {
 public:
  ShownStacks(const v1::Profile& profile, bool kernel);

  // The innermost node that is shown of the stack that ends at `node`; 0: no stack.
  [[nodiscard]] std::uint32_t Leaf(std::uint32_t node) const { return leaves_[node]; }
  // For nodes from 1 on; 0: it is the outermost.
  [[nodiscard]] std::uint32_t Parent(std::uint32_t node) const {
    return profile_.nodes(static_cast<int>(node) - 1).parent();
  }
  // An index into the profile's frames.
  [[nodiscard]] std::uint32_t Frame(std::uint32_t node) const {
    return profile_.nodes(static_cast<int>(node) - 1).frame();
  }
  [[nodiscard]] std::size_t size() const { return leaves_.size(); }  // nodes, with node 0

 private:
  const v1::Profile& profile_;
  std::vector<std::uint32_t> leaves_;  // by node
};

}  // namespace profd::client
