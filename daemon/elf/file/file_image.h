// FileImage: a private copy of the parts of a file that were requested, at their own offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/base/result.h"
#include "daemon/elf/file/byte_source.h"

namespace profd::elf {

// For libraries that want a whole file in memory. An anonymous mapping as large as the file: Fetch
// reads parts into it, and the rest stays zero pages that cost nothing. Never a mapping of the file
// itself: its owner can cut it at any time, and the read would end in SIGBUS. What has been fetched
// does not change under the reader. Move-only; used by one thread.
class FileImage {
 public:
  // Larger files are refused: no program is.
  static constexpr std::uint64_t kMaxFileBytes = 64ull << 30;

  // `source` must outlive the image.
  [[nodiscard]] static Result<FileImage> Create(const ByteSource& source);
  FileImage(FileImage&& other) noexcept;
  FileImage& operator=(FileImage&&) = delete;
  ~FileImage();

  // Reads [offset, offset + bytes) of the source. kCorrupt when that is not inside of it, or no
  // longer is.
  [[nodiscard]] Result<std::span<const char>> Fetch(std::uint64_t offset, std::uint64_t bytes);
  [[nodiscard]] char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return source_->size(); }

 private:
  FileImage(const ByteSource& source, char* data) : source_(&source), data_(data) {}

  const ByteSource* source_;
  char* data_;
};

}  // namespace profd::elf
