// Backoff: how long to wait before the next try.
#pragma once

#include <algorithm>
#include <cstdint>

namespace profd::fleet {

// Job: exponential, with full jitter: hosts that lost their receiver together do not come back
// together. Thread: one.
class Backoff {
 public:
  static constexpr std::uint64_t kFirstNs = 1'000'000'000;
  static constexpr std::uint64_t kMostNs = 300'000'000'000;

  void Reset() { failures_ = 0; }
  // After a failure. `random` is uniform over all numbers. At least a tenth of the bound, so that a
  // target never gets tries without a pause.
  [[nodiscard]] std::uint64_t NextNs(std::uint64_t random) {
    constexpr unsigned kMostDoublings = 9;  // beyond kMostNs
    const std::uint64_t bound =
        std::min(kMostNs, kFirstNs << std::min<std::uint64_t>(failures_++, kMostDoublings));
    const std::uint64_t least = bound / 10;
    return least + random % (bound - least);
  }

 private:
  std::uint64_t failures_ = 0;
};

}  // namespace profd::fleet
