// CounterReport: the counters of the BPF side with their names and texts, as they grew over a
// session.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {

struct CounterReport {
  std::vector<NamedCount> lost;      // kind LOST: could not be delivered to user space
  std::vector<NamedCount> dropped;   // kind SKIPPED: the BPF side decided not to take them
  std::vector<NamedCount> counters;  // kind INFO
};

// `after` less `before`, by enum profd_counter, without zeros. Either may be shorter; missing
// counters are 0. A counter that became smaller was reset (the programs were loaded again), so its
// new value counts in full.
[[nodiscard]] CounterReport DescribeCounters(std::span<const std::uint64_t> before,
                                             std::span<const std::uint64_t> after);

// All counters, including those that are 0.
[[nodiscard]] CounterReport DescribeAllCounters(std::span<const std::uint64_t> values);

// The growth of all counters of kind LOST.
[[nodiscard]] std::uint64_t LostBetween(std::span<const std::uint64_t> before,
                                        std::span<const std::uint64_t> after);

}  // namespace profd::aggregate
