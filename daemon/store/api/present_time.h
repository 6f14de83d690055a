// PresentTime: what time it is, as far as the host's clock can be believed.
#pragma once

#include <cstdint>

#include "daemon/base/clock.h"

namespace profd::store {

// Windows are dropped for their age, so a clock that jumps must not make all of them old. A jump
// forward of more than an hour is believed once it has lasted for an hour; until then time goes on
// as CLOCK_MONOTONIC does. Jumps back are believed at once: they make windows younger. Used by one
// thread.
class PresentTime {
 public:
  static constexpr std::uint64_t kHourNs = 3'600'000'000'000;

  // `known_unix_ns`: a time that has been, such as that of the last window; 0: none is known.
  PresentTime(const Clock& clock, std::uint64_t known_unix_ns)
      : clock_(clock),
        unix_ns_(known_unix_ns != 0 ? known_unix_ns : clock.RealtimeNs()),
        monotonic_ns_(clock.MonotonicNs()) {}

  // ns since 1970.
  [[nodiscard]] std::uint64_t NowNs() {
    const std::uint64_t now_ns = clock_.MonotonicNs();
    const std::uint64_t said_ns = clock_.RealtimeNs();
    const std::uint64_t expected_ns = unix_ns_ + (now_ns - monotonic_ns_);
    if (said_ns > expected_ns + kHourNs) {
      if (!doubted_) doubted_since_ns_ = now_ns;
      doubted_ = true;
      if (now_ns - doubted_since_ns_ < kHourNs) return expected_ns;
    }
    doubted_ = false;
    unix_ns_ = said_ns;
    monotonic_ns_ = now_ns;
    return said_ns;
  }

 private:
  const Clock& clock_;
  std::uint64_t unix_ns_;
  std::uint64_t monotonic_ns_;
  bool doubted_ = false;
  std::uint64_t doubted_since_ns_ = 0;
};

}  // namespace profd::store
