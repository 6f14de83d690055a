// ByteWindow: reads a ByteSource piece by piece.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/elf/file/byte_source.h"

namespace profd::elf {

// Keeps one piece of a source in memory, so that what is read in the order of the file costs few
// system calls and no more memory. Used by one thread; the source outlives it.
class ByteWindow {
 public:
  static constexpr std::size_t kPieceBytes = 256u << 10;

  explicit ByteWindow(const ByteSource& source) : source_(source) {}

  // At most `bytes` bytes from `offset` on: fewer at the end of the source, none where it cannot be
  // read. Valid until the next call.
  [[nodiscard]] std::string_view At(std::uint64_t offset, std::size_t bytes);

 private:
  const ByteSource& source_;
  std::uint64_t begin_ = 0;  // of piece_, in the source
  std::string piece_;
};

}  // namespace profd::elf
