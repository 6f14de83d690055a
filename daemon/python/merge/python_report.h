// What profd knows of Python interpreters, and what became of their stacks.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/base/named_count.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/python/merge/stack_merger.h"

namespace profd::python {

struct PythonReport {
  std::uint64_t attached = 0;       // processes whose interpreter is understood, now
  std::vector<NamedCount> waiting;  // processes by reason: whose is not yet ...
  std::vector<NamedCount> refused;  // ... and whose never will be
  // Since start.
  std::uint64_t stacks = 0;
  std::uint64_t not_merged = 0;
  std::uint64_t cut = 0;
  std::uint64_t names_stale = 0;
  std::uint64_t names_unknown = 0;
};

[[nodiscard]] PythonReport Describe(const python::PythonStatus& status,
                                    const python::MergeCounters& counters);

}  // namespace profd::python
