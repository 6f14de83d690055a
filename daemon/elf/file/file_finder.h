// FileFinder: opens the very file that a process has mapped, never another one in its place.
#pragma once

#include "daemon/base/result.h"
#include "daemon/elf/file/object_source.h"
#include "daemon/elf/file/regular_file.h"
#include "daemon/reader/opener.h"

namespace profd::elf {

// Requests from an opener, in this order, and takes the first that is the mapped file:
//   1. the executable mapping itself: also when the file is deleted, replaced, or in another mount
//      namespace. If that mapping is no more, another one of the same file in that process.
//   2. PATH in the root of the process, then in profd's own. There device and inode must be those
//      of the mapping.
// Runs in a reader process.
class FileFinder {
 public:
  // The opener outlives this.
  explicit FileFinder(reader::FileOpener& opener) : opener_(opener) {}

  // The error lists what was tried. kNotFound when the file is gone, kPermissionDenied when a
  // right is missing, profd's or that of the process's user.
  [[nodiscard]] Result<FoundFile> Open(const ObjectId& id) const;

 private:
  reader::FileOpener& opener_;
};

}  // namespace profd::elf
