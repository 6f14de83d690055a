// How deep profd's own pid namespace lies: the kernel side shows ids as seen in it.
#pragma once

#include <cstdint>

namespace profd::source {

struct PidNamespace {
  std::uint32_t inode = 0;
  std::uint32_t level = 0;  // 0: the machine's initial one
};

// Inside another namespace than the initial one the kernel tells nobody how deep it lies; it is
// taken for a child of the initial one, which is what containers are. The kernel side compares the
// inode, too: when it lies deeper, no thread is visible, rather than the wrong ones.
[[nodiscard]] PidNamespace OwnPidNamespace();

}  // namespace profd::source
