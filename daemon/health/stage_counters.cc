#include "daemon/health/stage_counters.h"

namespace profd::health {

StageReport Describe(const StageCounters& counters) {
  StageReport report;
  const auto add_count = [](std::vector<aggregate::NamedCount>& list, std::uint64_t count,
                            const char* name, const char* text) {
    list.push_back({name, text, count});
  };
  const auto add = [&](std::vector<aggregate::NamedCount>& list, const Counter& counter,
                       const char* name,
                       const char* text) { add_count(list, counter.value(), name, text); };
  add(report.dropped, counters.queue_full, "queue_full",
      "samples dropped: events came faster than they could be handled");
  add(report.dropped, counters.names_behind, "names_behind",
      "samples dropped: names could not be found fast enough");
  add_count(report.dropped, counters.memory_events.value() + counters.memory_items.value(),
            "memory_cap", "samples dropped: profd was near its memory cap");
  add(report.notes, counters.undecodable, "undecodable", "events whose bytes made no sense");
  add(report.notes, counters.out_of_order, "out_of_order",
      "events that arrived after a newer one had been handled");
  add(report.notes, counters.order_crowded, "order_crowded",
      "events handled early: too many were waiting to be put in order");
  add(report.notes, counters.processes_evicted, "processes_evicted",
      "processes forgotten: too many were known");
  add(report.notes, counters.mappings_refused, "mappings_refused",
      "mappings not kept: too many were known");
  add(report.notes, counters.unknown_process, "unknown_process",
      "samples of a process that is not known: no file for a frame");
  add(report.notes, counters.unplaced_frames, "unplaced_frames",
      "user frames in no mapping of their process");
  add(report.levels, counters.processes, "processes", "processes that are known");
  return report;
}

}  // namespace profd::health
