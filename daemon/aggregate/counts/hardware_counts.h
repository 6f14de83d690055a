// HardwareCounts: what hardware counters have counted for a thread or a sample.
#pragma once

#include <cstdint>
#include <string>

#include "bpf/shared/pmu.h"

namespace profd::aggregate {

using HardwareCounts = profd_pmu_counts;

void AddCounts(const HardwareCounts& part, HardwareCounts& sum);
[[nodiscard]] bool IsZero(const HardwareCounts& counts);
// a - b; 0 for each number that is smaller in a.
[[nodiscard]] HardwareCounts CountsBetween(const HardwareCounts& b, const HardwareCounts& a);

// What a session that requested counters has.
struct HardwareCounters {
  bool requested = false;
  std::uint32_t counted = 0;  // bit i: enum profd_pmu_counter i
  bool refused = false;       // none is counted, because profd may not

  // Why there are none; "": there are, or none were requested.
  [[nodiscard]] std::string Missing() const;
};

// Of the mode of a session event.
[[nodiscard]] HardwareCounters CountersOf(std::uint32_t mode);

}  // namespace profd::aggregate
