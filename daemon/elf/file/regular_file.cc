#include "daemon/elf/file/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace profd::elf {
namespace {

std::int64_t Ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Of a handle, which is invalid if errno says why.
Result<SeenFile> Describe(UniqueFd handle, const std::string& path) {
  struct stat status {};
  if (!handle.valid() || ::fstat(handle.get(), &status) != 0) {
    if (errno == ENOTDIR) errno = ENOENT;
    return ErrorFromErrno(errno, path);
  }
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kUnsupported, path + ": not a regular file", ""};
  SeenFile seen;
  seen.handle = std::move(handle);
  seen.stamp = {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                Ns(status.st_mtim), Ns(status.st_ctim)};
  seen.owner = status.st_uid;
  return seen;
}

}  // namespace

FoundFile FoundIn(reader::OpenedFile opened) {
  return {std::move(opened.fd),
          {opened.device, opened.inode, opened.bytes, opened.modified_ns, opened.changed_ns}};
}

Result<FoundFile> FoundIn(UniqueFd fd) {
  auto seen = Describe(std::move(fd), "a debug file");
  if (!seen) return seen.error();
  return FoundFile{std::move(seen->handle), seen->stamp};
}

Result<SeenFile> LookAt(const std::string& path) {
  return Describe(UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC)), path);
}

Result<FoundFile> OpenSeen(const SeenFile& seen) {
  // The own descriptor, by the own /proc.
  const std::string path = "/proc/self/fd/" + std::to_string(seen.handle.get());
  FoundFile found;
  found.fd.Reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!found.fd.valid()) return ErrorFromErrno(errno, "cannot open it");
  found.stamp = seen.stamp;
  return found;
}

}  // namespace profd::elf
