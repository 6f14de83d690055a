// PresentTime: the current time, protected against jumps of the host's clock.
#pragma once

#include <cstdint>

#include "daemon/base/clock.h"

namespace profd::store {

// The store drops windows by age, so a clock that jumps must not make all of them old. PresentTime
// accepts a jump forward of more than an hour only after it has lasted for an hour; until then time
// advances like CLOCK_MONOTONIC. It accepts jumps back at once: they make windows younger. Used by
// one thread.
class PresentTime {
 public:
  static constexpr std::uint64_t kHourNs = 3'600'000'000'000;

  // `known_unix_ns`: a time in the past, such as that of the last window; 0: none is known.
  PresentTime(const Clock& clock, std::uint64_t known_unix_ns)
      : clock_(clock),
        unix_ns_(known_unix_ns != 0 ? known_unix_ns : clock.RealtimeNs()),
        monotonic_ns_(clock.MonotonicNs()) {}

  // ns since 1970.
  [[nodiscard]] std::uint64_t NowNs() {
    const std::uint64_t now_ns = clock_.MonotonicNs();
    const std::uint64_t reported_ns = clock_.RealtimeNs();
    const std::uint64_t expected_ns = unix_ns_ + (now_ns - monotonic_ns_);
    if (reported_ns > expected_ns + kHourNs) {
      if (!doubted_) doubted_since_ns_ = now_ns;
      doubted_ = true;
      if (now_ns - doubted_since_ns_ < kHourNs) return expected_ns;
    }
    doubted_ = false;
    unix_ns_ = reported_ns;
    monotonic_ns_ = now_ns;
    return reported_ns;
  }

 private:
  const Clock& clock_;
  std::uint64_t unix_ns_;
  std::uint64_t monotonic_ns_;
  bool doubted_ = false;
  std::uint64_t doubted_since_ns_ = 0;
};

}  // namespace profd::store
