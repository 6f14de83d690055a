// StageCounters: what the stages in user space had to give up.
#pragma once

#include <vector>

#include "daemon/aggregate/profile.h"
#include "daemon/base/counter.h"
#include "daemon/python/stack_merger.h"

namespace profd::health {

// One per pipeline. Each counter has one writer, named here; any thread may read.
struct StageCounters {
  Counter undecodable;           // reader: events whose bytes do not mean what they must
  Counter queue_full;            // reader: samples dropped because the worker was behind
  Counter names_behind;          // worker: samples dropped because the symbolizer was behind
  Counter out_of_order;          // worker: events that came after a newer one had been handled
  Counter order_crowded;         // worker: events handled early because too many were held
  python::MergeCounters python;  // worker
};

struct StageReport {
  std::vector<aggregate::NamedCount> dropped;
  std::vector<aggregate::NamedCount> notes;
};

// All counters, with words; those that are zero, too.
[[nodiscard]] StageReport Describe(const StageCounters& counters);

}  // namespace profd::health
