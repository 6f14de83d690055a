#include "daemon/base/clock.h"

#include <ctime>

namespace profd {
namespace {

std::uint64_t Now(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

std::uint64_t SystemClock::MonotonicNs() const { return Now(CLOCK_MONOTONIC); }
std::uint64_t SystemClock::RealtimeNs() const { return Now(CLOCK_REALTIME); }

}  // namespace profd
