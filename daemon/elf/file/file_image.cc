#include "daemon/elf/file/file_image.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/base/files.h"

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
  const auto got = ReadAt(fd_, offset, part, "cannot read the file");
  if (!got) return got.error();
  if (*got < part.size())
    return Error{ErrorCode::kCorrupt, "the file shrank while it was read", ""};
  return {};
}

}  // namespace profd::elf
