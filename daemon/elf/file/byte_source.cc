#include "daemon/elf/file/byte_source.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "daemon/base/files.h"

namespace profd::elf {

Result<void> ByteSource::Check(std::uint64_t offset, std::uint64_t bytes) const {
  if (Holds(offset, bytes)) return {};
  return Error{ErrorCode::kCorrupt, "a part that should be there lies outside the file", ""};
}

Result<void> ByteSource::Read(std::uint64_t offset, std::span<char> to) const {
  PROFD_TRY(Check(offset, to.size()));
  return ReadInside(offset, to);
}

Result<std::string> ByteSource::Copy(std::uint64_t offset, std::uint64_t bytes) const {
  PROFD_TRY(Check(offset, bytes));
  std::string copy(bytes, '\0');
  PROFD_TRY(ReadInside(offset, copy));
  return copy;
}

Result<FileBytes> FileBytes::Of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return ErrorFromErrno(errno, "cannot look at the file");
  return FileBytes(fd, static_cast<std::uint64_t>(status.st_size));
}

Result<void> FileBytes::ReadInside(std::uint64_t offset, std::span<char> to) const {
  const auto got = ReadAt(fd_, offset, to, "cannot read the file");
  if (!got) return got.error();
  if (*got < to.size()) return Error{ErrorCode::kCorrupt, "the file shrank while it was read", ""};
  return {};
}

Result<void> MemoryBytes::ReadInside(std::uint64_t offset, std::span<char> to) const {
  if (!to.empty()) std::memcpy(to.data(), bytes_.data() + offset, to.size());
  return {};
}

}  // namespace profd::elf
