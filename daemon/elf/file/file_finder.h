// FileFinder: opens the very file that a process has mapped, never another one in its place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/base/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/file/regular_file.h"

namespace profd::elf {

// Tries, in this order, and takes the first that is the mapped file:
//   1. /proc/PID/map_files/START-END: also when it is deleted, replaced, or in another mount
//      namespace; needs CAP_CHECKPOINT_RESTORE. If that mapping is no more, another one of the
//      same file in that process.
//   2. /proc/PID/root/PATH, then PATH itself.
// "Is the mapped file": device and inode are those of the mapping. On overlayfs and btrfs stat
// reports another device than maps does; there, for 1, the process's own maps must say that this
// mapping is of this device and inode. Nothing but regular files is ever opened, so no driver and
// no FIFO notices. Stateless; safe from any thread.
class FileFinder {
 public:
  explicit FileFinder(ProcFs proc) : proc_(std::move(proc)) {}

  // The error lists what was tried. kNotFound when the file is gone, kPermissionDenied when a
  // right is missing.
  [[nodiscard]] Result<FoundFile> Open(const ObjectId& id) const;

 private:
  struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
  };
  // Mappings of this very file in the process, by its maps.
  [[nodiscard]] std::vector<Mapping> MappingsOf(const ObjectId& id) const;
  [[nodiscard]] std::string MapFile(const ObjectId& id, Mapping mapping) const;

  ProcFs proc_;
};

}  // namespace profd::elf
