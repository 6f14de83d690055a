// MulDiv: a product and a quotient of 64-bit numbers without overflow in between.
#pragma once

#include <cstdint>

namespace profd {

// a * b / c, rounded down; c must not be 0, and the result must fit.
[[nodiscard]] inline std::uint64_t MulDiv(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b / c);
}

}  // namespace profd
