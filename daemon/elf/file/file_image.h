// FileImage: a private copy of the parts of a file that were requested, at their own offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/result.h"

namespace profd::elf {

// An anonymous mapping as large as the file; Fetch reads parts into it, the rest stays zero pages
// that cost nothing. Never a mapping of the file itself: its owner can cut it at any time, and the
// read would end in SIGBUS. What has been fetched does not change under the reader. Move-only.
class FileImage {
 public:
  // Larger files are refused: no program is.
  static constexpr std::uint64_t kMaxFileBytes = 64ull << 30;

  // `fd` must outlive the image. `file_bytes` as fstat said.
  [[nodiscard]] static Result<FileImage> Create(int fd, std::uint64_t file_bytes);
  // The whole image is `bytes`, copied (the vdso).
  [[nodiscard]] static Result<FileImage> FromMemory(std::span<const std::byte> bytes);
  FileImage(FileImage&& other) noexcept;
  FileImage& operator=(FileImage&&) = delete;
  ~FileImage();

  // Reads [offset, offset + bytes) of the file. kCorrupt when that is not inside the file, or no
  // longer is.
  [[nodiscard]] Result<std::span<const char>> Fetch(std::uint64_t offset, std::uint64_t bytes);
  // The same into memory of its own, to keep; the image does not get it.
  [[nodiscard]] Result<std::string> Copy(std::uint64_t offset, std::uint64_t bytes) const;
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  FileImage(int fd, char* data, std::size_t size) : fd_(fd), data_(data), size_(size) {}
  [[nodiscard]] static Result<char*> Reserve(std::uint64_t bytes);
  [[nodiscard]] bool Holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  [[nodiscard]] Result<void> Read(std::uint64_t offset, std::span<char> part) const;

  int fd_;  // -1: everything is there
  char* data_;
  std::size_t size_;
};

}  // namespace profd::elf
