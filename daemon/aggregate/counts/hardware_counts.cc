#include "daemon/aggregate/counts/hardware_counts.h"

#include <algorithm>

#include "bpf/shared/events.h"
#include "daemon/session/no_counters.h"

namespace profd::aggregate {

void AddCounts(const HardwareCounts& part, HardwareCounts& sum) {
  sum.counted_ns += part.counted_ns;
  for (std::size_t i = 0; i < PROFD_PMU_COUNTERS; ++i) sum.counts[i] += part.counts[i];
}

bool IsZero(const HardwareCounts& counts) {
  return counts.counted_ns == 0 &&
         std::ranges::all_of(counts.counts, [](std::uint64_t count) { return count == 0; });
}

HardwareCounts CountsBetween(const HardwareCounts& b, const HardwareCounts& a) {
  const auto less = [](std::uint64_t from, std::uint64_t to) { return to - std::min(from, to); };
  HardwareCounts between{.counted_ns = less(b.counted_ns, a.counted_ns), .counts = {}};
  for (std::size_t i = 0; i < PROFD_PMU_COUNTERS; ++i)
    between.counts[i] = less(b.counts[i], a.counts[i]);
  return between;
}

std::string HardwareCounters::Missing() const {
  if (!requested || counted != 0) return {};
  return std::string(session::NoCountersText(refused));
}

HardwareCounters CountersOf(std::uint32_t mode) {
  return {.requested = (mode & PROFD_SESSION_COUNTED) != 0,
          .counted = mode >> PROFD_SESSION_COUNTERS_SHIFT & PROFD_SESSION_COUNTERS_MASK,
          .refused = (mode & PROFD_SESSION_COUNTERS_REFUSED) != 0};
}

}  // namespace profd::aggregate
