// Epochs: instants, a little ahead, as of which every thread clock is read (bpf/shared/control.h).
#pragma once

#include <cstdint>

#include "bpf/shared/control.h"
#include "daemon/base/clock.h"

namespace profd::source {

struct Epoch {
  std::uint64_t number = 0;
  std::uint64_t time_ns = 0;
};

// The BPF side keeps the totals of one epoch per thread. So all clocks must have been read before
// the next epoch is announced. Not thread-safe: the mutex of Sessions covers it.
class Epochs {
 public:
  // Ahead far enough that every program that started before the announcement has ended by then.
  static constexpr std::uint64_t kAheadNs = 1'000'000;
  // Ahead at least by so much when all programs can see it; else a new one is announced.
  static constexpr std::uint64_t kLeastAheadNs = 500'000;
  static constexpr int kMaxAnnouncements = 100;

  // Both must outlive this.
  Epochs(profd_control& control, const Clock& clock) : control_(control), clock_(clock) {}

  [[nodiscard]] Epoch Announce();

 private:
  profd_control& control_;
  const Clock& clock_;
};

// Sleeps until CLOCK_MONOTONIC has passed the epoch.
void SleepPast(const Epoch& epoch);

}  // namespace profd::source
