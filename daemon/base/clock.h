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

}  // namespace profd
