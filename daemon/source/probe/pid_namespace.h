// PidNamespace: the depth of profd's own pid namespace. The BPF side shows ids of that namespace.
#pragma once

#include <cstdint>

namespace profd::source {

struct PidNamespace {
  std::uint32_t inode = 0;
  std::uint32_t level = 0;  // 0: the machine's initial one
};

// The kernel does not say how deep a namespace lies. Any other than the initial one is taken for a
// child of the initial one, as those of containers are. The BPF side compares the inode, too: if
// the namespace lies deeper, no thread is visible, rather than the wrong ones.
[[nodiscard]] PidNamespace OwnPidNamespace();

}  // namespace profd::source
