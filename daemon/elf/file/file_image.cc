#include "daemon/elf/file/file_image.h"

#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace profd::elf {

Result<FileImage> FileImage::Create(const ByteSource& source) {
  if (source.size() == 0) return Error{ErrorCode::kCorrupt, "empty file", ""};
  if (source.size() > kMaxFileBytes)
    return Error{ErrorCode::kExhausted, "file is larger than 64 GiB", ""};
  void* memory = ::mmap(nullptr, source.size(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrorFromErrno(errno, "cannot reserve memory for the file");
  return FileImage(source, static_cast<char*>(memory));
}

FileImage::FileImage(FileImage&& other) noexcept
    : source_(other.source_), data_(std::exchange(other.data_, nullptr)) {}

FileImage::~FileImage() {
  if (data_ != nullptr) ::munmap(data_, source_->size());
}

Result<std::span<const char>> FileImage::Fetch(std::uint64_t offset, std::uint64_t bytes) {
  PROFD_TRY(source_->Check(offset, bytes));
  const std::span<char> part(data_ + offset, bytes);
  PROFD_TRY(source_->Read(offset, part));
  return std::span<const char>(part);
}

}  // namespace profd::elf
