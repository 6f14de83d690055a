// Clock: where user space takes its time from; replaced in tests and replays.
#pragma once

#include <cstdint>

namespace profd {

// All methods may be called from any thread.
class Clock {
 public:
  virtual ~Clock() = default;
  // CLOCK_MONOTONIC ns: the clock of every event.
  [[nodiscard]] virtual std::uint64_t MonotonicNs() const = 0;
  // CLOCK_REALTIME ns since 1970, for people.
  [[nodiscard]] virtual std::uint64_t RealtimeNs() const = 0;
};

class SystemClock : public Clock {
 public:
  [[nodiscard]] std::uint64_t MonotonicNs() const override;
  [[nodiscard]] std::uint64_t RealtimeNs() const override;
};

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

}  // namespace profd
