// ByteSource: the bytes of a file or of a piece of memory, by their offsets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "daemon/base/result.h"

namespace profd::elf {

// What parsers of files read from: they never open anything themselves, and no read leaves the
// source. The bytes may change between two reads, since the owner of a file may write to it.
// Stateless after construction; safe from any thread.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  // Fills `to` with the bytes from `offset` on. kCorrupt: they are not all inside of the source, or
  // no longer are. kIo: reading failed.
  [[nodiscard]] Result<void> Read(std::uint64_t offset, std::span<char> to) const;
  // The same as a text. The caller has to bound `bytes`.
  [[nodiscard]] Result<std::string> Copy(std::uint64_t offset, std::uint64_t bytes) const;
  [[nodiscard]] bool Holds(std::uint64_t offset, std::uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }
  // kCorrupt unless it holds them.
  [[nodiscard]] Result<void> Check(std::uint64_t offset, std::uint64_t bytes) const;

 protected:
  explicit ByteSource(std::uint64_t size) : size_(size) {}
  ByteSource(const ByteSource&) = default;
  ByteSource& operator=(const ByteSource&) = default;

 private:
  // Of bytes that lie inside.
  [[nodiscard]] virtual Result<void> ReadInside(std::uint64_t offset, std::span<char> to) const = 0;

  std::uint64_t size_;
};

// A regular file that is open for reading. The caller owns `fd`, which outlives this.
class FileBytes : public ByteSource {
 public:
  FileBytes(int fd, std::uint64_t bytes) : ByteSource(bytes), fd_(fd) {}
  // Of the size that fstat says now.
  [[nodiscard]] static Result<FileBytes> Of(int fd);
  [[nodiscard]] int fd() const { return fd_; }

 private:
  [[nodiscard]] Result<void> ReadInside(std::uint64_t offset, std::span<char> to) const override;

  int fd_;
};

// Memory of this process, which outlives this.
class MemoryBytes : public ByteSource {
 public:
  explicit MemoryBytes(std::span<const std::byte> bytes)
      : ByteSource(bytes.size()), bytes_(bytes) {}

 private:
  [[nodiscard]] Result<void> ReadInside(std::uint64_t offset, std::span<char> to) const override;

  std::span<const std::byte> bytes_;
};

}  // namespace profd::elf
