// ManualClock: a Clock that a test sets.
#pragma once

#include <cstdint>

#include "daemon/base/clock.h"

namespace profd::test {

// Stands still until it is set. Not thread-safe.
class ManualClock : public Clock {
 public:
  void Set(std::uint64_t monotonic_ns, std::uint64_t realtime_ns) {
    monotonic_ns_ = monotonic_ns;
    realtime_ns_ = realtime_ns;
  }
  [[nodiscard]] std::uint64_t MonotonicNs() const override { return monotonic_ns_; }
  [[nodiscard]] std::uint64_t RealtimeNs() const override { return realtime_ns_; }

 private:
  std::uint64_t monotonic_ns_ = 0;
  std::uint64_t realtime_ns_ = 0;
};

}  // namespace profd::test
