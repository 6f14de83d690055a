// SendTimes: when an export sends its next request.
#pragma once

#include <algorithm>
#include <cstdint>

#include "daemon/fleet/spool/backoff.h"

namespace profd::fleet {

// Job: keeps the requests of many hosts apart in time. Hosts end their windows at the same
// instants: each sends a new one at a random time within the interval. A receiver that was away
// gets the backlog of each host four times as fast as it grew, and no faster. Thread: one. Times
// are ns of the monotonic clock; `random` is uniform over all numbers.
class SendTimes {
 public:
  static constexpr std::uint64_t kMostSpreadNs = 60'000'000'000;
  static constexpr std::uint64_t kBacklogSpeed = 4;

  explicit SendTimes(std::uint64_t interval_ns)
      : spread_ns_(std::clamp<std::uint64_t>(interval_ns, 1, kMostSpreadNs)) {}

  [[nodiscard]] std::uint64_t next_ns() const { return next_ns_; }

  // Something is to be sent, after a time without anything.
  void Began(std::uint64_t now_ns, std::uint64_t random) {
    next_ns_ = std::max(next_ns_, now_ns + random % spread_ns_);
  }
  // The receiver took, or refused for good, what covers so much time of the host; `more` waits.
  void Ended(std::uint64_t now_ns, std::uint64_t covers_ns, bool more, std::uint64_t random) {
    backoff_.Reset();
    const std::uint64_t mean = covers_ns / kBacklogSpeed;
    next_ns_ = now_ns + (more && mean != 0 ? mean / 2 + random % mean : 0);
  }
  // It took nothing. `wish_ns`: how long it wishes to be left alone; 0: it does not say.
  void Failed(std::uint64_t now_ns, std::uint64_t wish_ns, std::uint64_t random) {
    next_ns_ = now_ns + std::max(wish_ns, backoff_.NextNs(random));
  }
  // For another reason, which is not the receiver's.
  void Wait(std::uint64_t until_ns) { next_ns_ = until_ns; }

 private:
  std::uint64_t spread_ns_;
  Backoff backoff_;
  std::uint64_t next_ns_ = 0;
};

}  // namespace profd::fleet
