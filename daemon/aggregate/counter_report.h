// Counters: turns the kernel side's numbers into words, and the growth of them over a session.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {

struct CounterReport {
  std::vector<NamedCount> lost;      // kind LOST: could not be handed over
  std::vector<NamedCount> dropped;   // kind SKIPPED: the kernel side chose not to take them
  std::vector<NamedCount> counters;  // kind INFO
};

// What `after` has more than `before`, by enum profd_counter; zeros are left out. Either may be
// shorter: a counter that is missing is 0. One that went back (programs loaded again) counts whole.
[[nodiscard]] CounterReport DescribeCounters(std::span<const std::uint64_t> before,
                                             std::span<const std::uint64_t> after);

// All of them, with those that are zero.
[[nodiscard]] CounterReport DescribeAllCounters(std::span<const std::uint64_t> values);

// Sum of the lost ones alone, for progress.
[[nodiscard]] std::uint64_t LostBetween(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after);

}  // namespace profd::aggregate
