// Clipping: how much of an interval lies inside a time range, and how much weight goes with
// it.
#pragma once

#include <cstdint>

namespace profd::aggregate {

// [begin_ns, end_ns), CLOCK_MONOTONIC. Empty when end_ns <= begin_ns.
struct Window {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;

  [[nodiscard]] std::uint64_t Length() const { return end_ns > begin_ns ? end_ns - begin_ns : 0; }
  [[nodiscard]] bool Contains(std::uint64_t time_ns) const {
    return time_ns >= begin_ns && time_ns < end_ns;
  }
  friend bool operator==(const Window&, const Window&) = default;
};

// The part of `a` that is also in `b`; empty at a's begin when there is none.
[[nodiscard]] Window Intersect(const Window& a, const Window& b);

// Share of `weight_ns` that falls to the part of `interval` inside `window`, in proportion to its
// length: marks are drawn evenly over the interval, so that is their expectation.
[[nodiscard]] std::uint64_t ClipWeight(std::uint64_t weight_ns, const Window& interval,
                                       const Window& window);

}  // namespace profd::aggregate
