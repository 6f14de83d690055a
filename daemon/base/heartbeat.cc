#include "daemon/base/heartbeat.h"

#include <algorithm>

#include "daemon/base/clock.h"

namespace profd {

void Heartbeat::Beat() { since_ns_.store(SystemClock().MonotonicNs(), std::memory_order_relaxed); }

std::uint64_t Heartbeat::RoundNs(std::uint64_t now_ns) const {
  const std::uint64_t since_ns = since_ns_.load(std::memory_order_relaxed);
  return since_ns == 0 ? 0 : now_ns - std::min(now_ns, since_ns);
}

std::string Heartbeat::Trouble(std::uint64_t now_ns) const {
  const std::chrono::nanoseconds round(RoundNs(now_ns));
  if (round < bound_) return {};
  return thread_ + ": no progress for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(round).count()) + " s";
}

}  // namespace profd
