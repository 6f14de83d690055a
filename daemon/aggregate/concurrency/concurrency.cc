#include "daemon/aggregate/concurrency/concurrency.h"

#include <algorithm>

namespace profd::aggregate {

ConcurrencyLevel& Concurrency::LevelOf(std::uint32_t threads) {
  const auto at = std::ranges::lower_bound(levels, threads, {}, &ConcurrencyLevel::threads);
  if (at != levels.end() && at->threads == threads) return *at;
  return *levels.insert(at, {.threads = threads, .running = 0, .wanting = 0});
}

void Concurrency::operator+=(const Concurrency& other) {
  for (const ConcurrencyLevel& level : other.levels) {
    ConcurrencyLevel& sum = LevelOf(level.threads);
    sum.running += level.running;
    sum.wanting += level.wanting;
  }
  unknown_points += other.unknown_points;
}

}  // namespace profd::aggregate
