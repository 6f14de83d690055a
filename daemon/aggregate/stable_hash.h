// StableHash: a hash of content that is the same in every run, on every machine.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace profd {

// Canonical (big-endian) XXH3, 128 bits.
using Hash128 = std::array<std::byte, 16>;

[[nodiscard]] Hash128 HashBytes(std::string_view bytes);

// The hash of numbers and texts. Each text is preceded by its length: without it, ("ab", "c") and
// ("a", "bc") would have one hash.
template <typename... Values>
[[nodiscard]] Hash128 StableHash(const Values&... values) {
  std::string bytes;
  const auto add_number = [&](std::uint64_t number) {
    const auto raw = std::bit_cast<std::array<char, sizeof(number)>>(number);
    bytes.append(raw.data(), raw.size());
  };
  const auto add = [&](const auto& value) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(value)>>) {
      add_number(static_cast<std::uint64_t>(value));
    } else {
      const std::string_view text(value);
      add_number(text.size());
      bytes += text;
    }
  };
  (add(values), ...);
  return HashBytes(bytes);
}

}  // namespace profd
