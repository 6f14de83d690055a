// PmuEvent: what hardware counters have counted for a thread.
#pragma once

#include <cstdint>

#include "bpf/shared/pmu.h"
#include "daemon/wire/event_header.h"

namespace profd::wire {

struct PmuEvent {
  EventHeader header;
  bool end = false;         // of the thread, or of its stay in the sessions
  std::uint64_t epoch = 0;  // of at_epoch; 0: none
  profd_pmu_counts at_epoch{};
  profd_pmu_counts final{};
};

}  // namespace profd::wire
