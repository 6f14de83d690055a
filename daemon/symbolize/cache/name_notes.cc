#include "daemon/symbolize/cache/name_notes.h"

namespace profd::symbolize {

Diagnostics Describe(const symbolize::CachingSymbolizer& cache,
                     const symbolize::TimedSymbolizer& behind_it, const elf::ObjectClient& files,
                     const LiveJitSymbols::Counters& registered) {
  Diagnostics report;
  const auto& requested = cache.counters();
  report.gauges = {
      {"names_cache_bytes", "bytes of names that are remembered", requested.bytes.value()},
  };
  const auto& read = files.counters();
  report.counters = {
      {"names_cache_hits", "addresses whose names were remembered", requested.hits.value()},
      {"names_cache_misses", "addresses whose names had to be found", requested.misses.value()},
      {"names_ns", "ns of CPU time spent on finding names", behind_it.spent_ns()},
      {"object_loads", "files that were asked for names", read.loads.value()},
      {"object_files_read", "of those, read from the disk", read.files_read.value()},
      {"object_failures", "of those, that could not be read", read.failures.value()},
      {"registered_lists", "lists of objects that programs registered for debuggers, read",
       registered.lists.value()},
      {"registered_objects", "of these objects, whose symbols were read",
       registered.objects.value()},
      {"registered_left_out", "of these objects, damaged, unreadable or beyond a bound",
       registered.left_out.value()},
  };
  return report;
}

}  // namespace profd::symbolize
