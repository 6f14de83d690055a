// EventHeader: what all events have.
#pragma once

#include <cstdint>

#include "daemon/base/keys.h"

namespace profd::wire {

struct EventHeader {
  std::uint64_t time_ns = 0;
  ProcessKey process;
  ThreadKey thread;
  std::uint64_t sessions = 0;
  std::uint32_t cpu = 0;
};

}  // namespace profd::wire
