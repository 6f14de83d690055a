// PrivateFile: files that hold what others may not see, whatever the umask and their folder's mode.
#pragma once

#include <sys/types.h>

#include <string>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"

namespace profd {

// Makes the file with mode 0600 if it is missing. If it exists, only its owner keeps access to it,
// and its group the right to read it, if the group has that. kInvalidArgument: the file is not a
// regular one, or CheckOwner() refuses it. It opens no file that exists, since closing a second
// descriptor would release the locks that SQLite has on the first one.
[[nodiscard]] Result<void> MakePrivateFile(const std::string& path);

// The same for a file that may be missing, and then stays missing.
[[nodiscard]] Result<void> KeepPrivateFile(const std::string& path);

// An empty file without a name, on a disk, to be read and written; it is gone when it is closed.
[[nodiscard]] Result<UniqueFd> MakeUnnamedFile();

// kInvalidArgument: `owner` of the file at `path` is neither this user, nor root, nor the owner of
// its folder. So this user may have made the file in a folder for everybody, to read what is
// written.
[[nodiscard]] Result<void> CheckOwner(uid_t owner, const std::string& path);

}  // namespace profd
