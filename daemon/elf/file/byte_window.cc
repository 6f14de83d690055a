#include "daemon/elf/file/byte_window.h"

#include <algorithm>
#include <span>

namespace profd::elf {

std::string_view ByteWindow::At(std::uint64_t offset, std::size_t bytes) {
  if (offset >= source_.size()) return {};
  const std::size_t there = std::min<std::uint64_t>(bytes, source_.size() - offset);
  if (offset < begin_ || offset - begin_ > piece_.size() ||
      there > piece_.size() - (offset - begin_)) {
    begin_ = offset;
    piece_.resize(std::min<std::uint64_t>(std::max(bytes, kPieceBytes), source_.size() - offset));
    if (!source_.Read(offset, piece_)) piece_.clear();
  }
  return std::string_view(piece_).substr(offset - begin_, there);
}

}  // namespace profd::elf
