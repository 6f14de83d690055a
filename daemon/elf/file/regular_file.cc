#include "daemon/elf/file/regular_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace profd::elf {
namespace {

std::int64_t Ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileStamp StampOf(const reader::OpenedFile& opened) {
  return {opened.device, opened.inode, opened.bytes, opened.modified_ns, opened.changed_ns};
}

FoundFile FoundIn(reader::OpenedFile opened) {
  const FileStamp stamp = StampOf(opened);
  return {std::move(opened.fd), stamp};
}

Result<FoundFile> FoundIn(UniqueFd fd) {
  constexpr const char* kName = "a debug file";
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return ErrorFromErrno(errno, kName);
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kUnsupported, std::string(kName) + ": not a regular file", ""};
  return FoundFile{std::move(fd),
                   {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                    Ns(status.st_mtim), Ns(status.st_ctim)}};
}

}  // namespace profd::elf
