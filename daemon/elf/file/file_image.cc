#include "daemon/elf/file/file_image.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace profd::elf {
namespace {

Error Outside() {
  return Error{ErrorCode::kCorrupt, "a part that should be there lies outside the file", ""};
}

}  // namespace

Result<char*> FileImage::Reserve(std::uint64_t bytes) {
  if (bytes == 0) return Error{ErrorCode::kCorrupt, "empty file", ""};
  if (bytes > kMaxFileBytes) return Error{ErrorCode::kExhausted, "file is larger than 64 GiB", ""};
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrorFromErrno(errno, "cannot reserve memory for the file");
  return static_cast<char*>(memory);
}

Result<FileImage> FileImage::Create(int fd, std::uint64_t file_bytes) {
  const Result<char*> memory = Reserve(file_bytes);
  if (!memory) return memory.error();
  return FileImage(fd, *memory, file_bytes);
}

Result<FileImage> FileImage::FromMemory(std::span<const std::byte> bytes) {
  const Result<char*> memory = Reserve(bytes.size());
  if (!memory) return memory.error();
  std::memcpy(*memory, bytes.data(), bytes.size());
  return FileImage(-1, *memory, bytes.size());
}

FileImage::FileImage(FileImage&& other) noexcept
    : fd_(other.fd_), data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

FileImage::~FileImage() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<std::span<const char>> FileImage::Fetch(std::uint64_t offset, std::uint64_t bytes) {
  if (!Holds(offset, bytes)) return Outside();
  const std::span<char> part(data_ + offset, bytes);
  if (fd_ >= 0) PROFD_TRY(Read(offset, part));
  return std::span<const char>(part);
}

Result<std::string> FileImage::Copy(std::uint64_t offset, std::uint64_t bytes) const {
  if (!Holds(offset, bytes)) return Outside();
  if (fd_ < 0) return std::string(data_ + offset, bytes);
  std::string copy(bytes, '\0');
  PROFD_TRY(Read(offset, copy));
  return copy;
}

Result<void> FileImage::Read(std::uint64_t offset, std::span<char> part) const {
  std::size_t done = 0;
  while (done < part.size()) {
    const ssize_t got =
        ::pread(fd_, part.data() + done, part.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorFromErrno(errno, "cannot read the file");
    if (got == 0) return Error{ErrorCode::kCorrupt, "the file shrank while it was read", ""};
    done += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace profd::elf
