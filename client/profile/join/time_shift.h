// TimeShift: from the monotonic clock of one host to that of another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace profd::client {

// What is beyond either end of the other clock stands at that end, so that order is kept; 0, which
// mostly means none, is no instant. Immutable.
class TimeShift {
 public:
  TimeShift() = default;
  // What is at `from_ns` on the one is at `to_ns` on the other.
  TimeShift(std::uint64_t from_ns, std::uint64_t to_ns)
      : back_(from_ns > to_ns), by_ns_(back_ ? from_ns - to_ns : to_ns - from_ns) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t time_ns) const {
    if (back_) return std::max<std::uint64_t>(1, time_ns - std::min(time_ns, by_ns_));
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    return std::max<std::uint64_t>(1, time_ns + std::min(by_ns_, kMost - time_ns));
  }
  // Where 0 means that there is none.
  [[nodiscard]] std::uint64_t OrNone(std::uint64_t time_ns) const {
    return time_ns == 0 ? 0 : (*this)(time_ns);
  }

 private:
  bool back_ = false;
  std::uint64_t by_ns_ = 0;
};

}  // namespace profd::client
