// How many threads of a process ran at once, as rows and shares.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/profile/share_error.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// Sampling points with `first` to `last` threads that were on a CPU, or that wanted one.
struct ConcurrencyRow {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint64_t running = 0;
  std::uint64_t wanting = 0;
};

// From no thread up to the most at any point, in `most_rows` at most (3 or more): no thread is a
// row of its own, the others have as many numbers each. The profile has passed CheckProfile.
[[nodiscard]] std::vector<ConcurrencyRow> ConcurrencyRows(const v1::Concurrency& concurrency,
                                                          std::size_t most_rows);
// Points that are known.
[[nodiscard]] std::uint64_t PointsOf(const v1::Concurrency& concurrency);
// Points at which more threads than `cpus` wanted one.
[[nodiscard]] std::uint64_t PointsBeyond(const v1::Concurrency& concurrency, double cpus);
// The most threads that wanted a CPU at any point.
[[nodiscard]] std::uint32_t MostWanting(const v1::Concurrency& concurrency);

// The 95 % interval of the share of `part` in `whole` sampling points. Each is drawn by itself in a
// period of its own, so the error is that of as many independent draws at most.
[[nodiscard]] Interval PointInterval(std::uint64_t part, std::uint64_t whole);

// Why a profile does not say how many threads ran at once.
[[nodiscard]] std::string NoConcurrencyText(const v1::Profile& profile);

}  // namespace profd::client
