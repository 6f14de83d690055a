// ConcurrencyCount: how many threads of a process ran at once, found in what a session has logged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/aggregate/concurrency/concurrency.h"
#include "daemon/aggregate/waits/wait_log.h"
#include "daemon/aggregate/weights/weights.h"
#include "daemon/base/keys.h"

namespace profd::aggregate {

// How long a thread belonged to the session.
struct ThreadStay {
  ThreadKey key;
  Window life;
  // The interval off the CPU that had not ended when its life in the session did, and whether the
  // thread was blocked in it.
  std::optional<std::uint64_t> off_since_ns = std::nullopt;
  bool blocked = false;
};

// Job: counts the threads of one process at each point. All threads of the host are sampled at the
// same points, so a thread that lives at one and has no sample there is on a CPU; where a sample of
// a thread may be missing, the point says nothing of its process. Off the CPU a thread is blocked
// or wants a CPU. A point is counted once, however many of them an interval holds.
// Thread: the one that builds the profile. Used once.
class ConcurrencyCount {
 public:
  // `level`: the coarsest at which intervals of the session were sampled, so that all of them have
  // its points. The log must outlive this.
  ConcurrencyCount(const WaitLog& log, std::uint64_t point_seed, std::uint32_t level)
      : log_(log), seed_(point_seed), level_(level) {}

  void Add(const ThreadStay& thread);
  [[nodiscard]] Concurrency Count() &&;

 private:
  // Numbers of threads that a point has.
  enum What : std::uint8_t { kLives, kBlocked, kRunnable, kUnknown, kWhats };

  void Mark(const Window& window, What what);

  const WaitLog& log_;
  const std::uint64_t seed_;
  const std::uint32_t level_;
  // From a point on there is one thread more or one less: point << 3 | What << 1 | less. Sessions
  // have millions of these.
  std::vector<std::uint64_t> changes_;
};

}  // namespace profd::aggregate
