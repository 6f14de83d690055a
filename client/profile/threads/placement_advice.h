// Threads that sit badly on the cores, caches and NUMA nodes of their host; ThreadAdvice says it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "client/profile/share_error.h"
#include "client/profile/threads/placement.h"
#include "client/profile/threads/thread_use.h"

namespace profd::client {

// Two threads of a pool that run on the CPUs of one core.
struct SharedCore {
  std::size_t first = 0;  // threads of the profile
  std::size_t second = 0;
  std::uint32_t core = 0;
  double busy = 0;  // share of their samples in which the other CPU of the core was busy
  Interval interval;
  std::size_t free_cores = 0;  // on which no thread of the pool was seen
};

// The worst pair of `pool`, if the numbers say that there is one, and a core is free. `threads`:
// UseOfThreads of the profile with these CPUs.
[[nodiscard]] std::optional<SharedCore> FindSharedCore(const CpuMap& cpus,
                                                       const std::vector<ThreadUse>& threads,
                                                       const std::vector<std::size_t>& pool);

// Threads that move between nodes, or else between caches, so often that it costs something.
struct FrequentMoves {
  std::size_t threads = 0;  // that do
  std::size_t busiest = 0;  // thread of the profile
  double per_second = 0;    // of that one, of its life
  bool nodes = false;
};

// Of `some` of the threads.
[[nodiscard]] std::optional<FrequentMoves> FindMoves(const std::vector<ThreadUse>& threads,
                                                     const std::vector<std::size_t>& some);

}  // namespace profd::client
