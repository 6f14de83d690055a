#include "daemon/decode/packed_words.h"

#include <algorithm>

#include "bpf/events.h"

namespace profd::decode {
namespace {

bool TakePiece(Bytes& from, std::uint32_t& piece) { return Split(from, piece, from); }

constexpr std::uint64_t kBit61 = std::uint64_t{1} << 61;

}  // namespace

bool TakePackedWords(Bytes& from, std::size_t count, std::vector<std::uint64_t>& words) {
  words.reserve(words.size() + std::min(count, from.size() / sizeof(std::uint32_t)));
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t piece = 0;
    if (!TakePiece(from, piece)) return false;
    if ((piece & PROFD_PIECE_WIDE) == 0) {
      word += std::uint64_t{piece} - PROFD_PIECE_RANGE;
    } else {
      std::uint32_t low = 0;
      if (!TakePiece(from, low)) return false;
      const std::uint64_t high = piece & ~PROFD_PIECE_WIDE;
      word = (high >> 30) << 63 | (high & 0x3fff'ffff) << 32 | low;
      word |= (word & kBit61) << 1;
    }
    words.push_back(word);
  }
  return true;
}

}  // namespace profd::decode
