#include "daemon/base/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace profd {
namespace {

constexpr mode_t kMode = 0600;
constexpr mode_t kMostMode = 0640;
constexpr mode_t kAllBits = 07777;

}  // namespace

Result<void> CheckOwner(uid_t owner, const std::string& path) {
  if (owner == geteuid() || owner == 0) return {};
  const auto parent = std::filesystem::path(path).parent_path();
  struct stat folder {};
  if (stat(parent.empty() ? "." : parent.c_str(), &folder) == 0 && folder.st_uid == owner)
    return {};
  return Error{ErrorCode::kInvalidArgument,
               path + " belongs to uid " + std::to_string(owner) +
                   ", who would see what profd writes into it",
               "remove it, or choose a folder in which only profd's user can make files"};
}

Result<void> KeepPrivateFile(const std::string& path) {
  // O_PATH: it needs no right to the file, and cannot wait as the opening of a FIFO does.
  const UniqueFd file(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid())
    return errno == ENOENT ? Result<void>() : ErrorFromErrno(errno, "cannot examine " + path);
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return ErrorFromErrno(errno, "cannot examine " + path);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kInvalidArgument, path + " is not a regular file", "remove it"};
  PROFD_TRY(CheckOwner(status.st_uid, path));
  const mode_t mode = (status.st_mode & kMostMode) | kMode;
  if ((status.st_mode & kAllBits) == mode) return {};
  // fchmod() refuses a descriptor of O_PATH.
  const std::string name = "/proc/self/fd/" + std::to_string(file.get());
  if (chmod(name.c_str(), mode) != 0)
    return ErrorFromErrno(errno, "cannot set the mode of " + path);
  return {};
}

Result<void> MakePrivateFile(const std::string& path) {
  const UniqueFd made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
  if (!made.valid() && errno != EEXIST) return ErrorFromErrno(errno, "cannot make " + path);
  return KeepPrivateFile(path);  // also if it was just made: the umask may have taken bits
}

Result<UniqueFd> MakeUnnamedFile() {
  for (const char* folder : {"/var/tmp", "/tmp"}) {
    UniqueFd file(open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, kMode));
    if (file.valid()) return file;
  }
  return ErrorFromErrno(errno, "cannot make a temporary file");
}

}  // namespace profd
