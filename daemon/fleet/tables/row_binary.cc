#include "daemon/fleet/tables/row_binary.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

namespace profd::fleet {
namespace {

constexpr int kByteBits = 8;
constexpr int kLengthBits = 7;  // of each byte of a length; the highest says that more follow
constexpr std::uint64_t kMore = 1u << kLengthBits;

void Append(std::string& bytes, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    bytes += static_cast<char>(value & 0xff);
    value >>= kByteBits;
  }
}

}  // namespace

void RowBinary::UInt32(std::uint64_t value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  Append(bytes_, std::min(value, kMost), sizeof(std::uint32_t));
}

void RowBinary::UInt64(std::uint64_t value) { Append(bytes_, value, sizeof(value)); }

void RowBinary::Float64(double value) { UInt64(std::bit_cast<std::uint64_t>(value)); }

void RowBinary::Text(std::string_view text) {
  Length(text.size());
  bytes_ += text;
}

void RowBinary::Length(std::uint64_t length) {
  for (; length >= kMore; length >>= kLengthBits)
    bytes_ += static_cast<char>((length & (kMore - 1)) | kMore);
  bytes_ += static_cast<char>(length);
}

void RowBinary::Map(const std::map<std::string, std::string>& map) {
  Length(map.size());
  for (const auto& [name, value] : map) {
    Text(name);
    Text(value);
  }
}

void RowBinary::Map(const std::map<std::string, std::uint64_t>& map) {
  Length(map.size());
  for (const auto& [name, value] : map) {
    Text(name);
    UInt64(value);
  }
}

}  // namespace profd::fleet
