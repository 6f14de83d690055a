// Concurrency: how many threads of a process ran at once, as a profile has it.
#pragma once

#include <cstdint>
#include <vector>

namespace profd::aggregate {

// The points at which so many threads were on a CPU (running), and at which so many were on one or
// waited for one (wanting).
struct ConcurrencyLevel {
  std::uint32_t threads = 0;
  std::uint64_t running = 0;
  std::uint64_t wanting = 0;
  friend bool operator==(const ConcurrencyLevel&, const ConcurrencyLevel&) = default;
};

// Of one process, or the sums of a group of them. Points at which no thread lived are left out.
struct Concurrency {
  std::vector<ConcurrencyLevel> levels;  // ascending; each column sums up to the same number
  std::uint64_t unknown_points = 0;      // not in `levels`: a sample may be missing there

  // Added if it is new.
  [[nodiscard]] ConcurrencyLevel& LevelOf(std::uint32_t threads);
  void operator+=(const Concurrency& other);
  friend bool operator==(const Concurrency&, const Concurrency&) = default;
};

}  // namespace profd::aggregate
