// Files that the kernel may read while it holds up the host.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/base/result.h"
#include "daemon/reader/opener.h"

namespace profd::source {

// Of /proc/PID/mountinfo.
struct MountLine {
  std::uint64_t id = 0;
  std::string_view device;  // "0:45"
  std::string_view type;    // of the file system: "overlay"
};
// Nothing matches: `id` is 0. The result refers to `mountinfo`.
[[nodiscard]] MountLine FindMountById(std::string_view mountinfo, std::uint64_t id);
[[nodiscard]] bool HasMountOf(std::string_view mountinfo, const MountLine& mount);

// While the kernel attaches a uprobe it may read the page of the file, and nothing on the host can
// fork until it has: so the file's owner must not be who answers that read. FUSE can be mounted by
// any user, and overlayfs by any user in a namespace of his own, above FUSE. All other real file
// systems are mounted by root. So FUSE is refused (but virtiofs, which is the hypervisor's), and of
// overlayfs what is not mounted in the namespace of process 1, where users cannot mount it.
// kUnsupported: it is such a file, or that cannot be found out. Runs in a reader process that is
// its own opener.
[[nodiscard]] Result<void> CheckAnswers(reader::FileOpener& opener, int file, std::uint32_t pid);

}  // namespace profd::source
