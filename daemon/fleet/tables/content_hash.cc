#include "daemon/fleet/tables/content_hash.h"

#include <cstddef>

#include "daemon/aggregate/stable_hash.h"

namespace profd::fleet {
namespace {

constexpr int kBits = 8;

}  // namespace

void ContentHash::Number(std::uint64_t number) {
  for (std::size_t i = 0; i < sizeof(number); ++i) {
    bytes_ += static_cast<char>(number & 0xff);
    number >>= kBits;
  }
}

void ContentHash::Text(std::string_view text) {
  Number(text.size());
  bytes_ += text;
}

std::uint64_t ContentHash::Of(std::string_view bytes) {
  const Hash128 hash = HashBytes(bytes);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(number); ++i)
    number = number << kBits | std::to_integer<std::uint64_t>(hash[i]);
  return number;
}

}  // namespace profd::fleet
