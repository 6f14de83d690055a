#include "daemon/pipeline/stage_counters.h"

#include "bpf/shared/counters.h"

namespace profd::pipeline {

session::PerKind<session::SampleCounts> SamplesRead(const StageCounters& counters) {
  const session::SampleCounts background{counters.background_on_cpu_read.value(),
                                         counters.background_off_cpu_read.value()};
  // Read first, and counted last: there are no fewer of all.
  return {.requested = {.on_cpu = counters.on_cpu_read.value() - background.on_cpu,
                        .off_cpu = counters.off_cpu_read.value() - background.off_cpu},
          .background = background};
}

StageReport Describe(const StageCounters& counters) {
  StageReport report;
  const auto add_count = [](std::vector<NamedCount>& list, std::uint64_t count, const char* name,
                            const char* text) {
    list.push_back({name, text, count});
  };
  const auto add = [&](std::vector<NamedCount>& list, const Counter& counter, const char* name,
                       const char* text) { add_count(list, counter.value(), name, text); };
  add(report.dropped, counters.queue_full, "queue_full",
      "samples dropped: events came faster than they could be handled");
  add(report.dropped, counters.names_behind, "names_behind",
      "samples dropped: names could not be found fast enough");
  add_count(report.dropped, counters.memory_events.value() + counters.memory_items.value(),
            "memory_cap", "samples dropped: profd was near its memory cap");
  add_count(report.dropped, counters.ending_events.value() + counters.ending_items.value(),
            "ending", "samples dropped: profd was ending");
  add(report.counters, counters.on_cpu_read, "on_cpu_samples_read", "on-CPU samples read");
  add(report.counters, counters.off_cpu_read, "off_cpu_samples_read", "off-CPU samples read");
  add(report.counters, counters.snapshots_read, "snapshots_read",
      "stacks of threads as they stood that were read");
  add(report.counters, counters.wakers_read, "wakers_read",
      "stacks of those who end waits that were read");
  add(report.counters, counters.others_read, "events_read",
      "events read that are no samples: of threads, processes and mappings");
  add(report.counters, counters.samples_delivered, "samples_delivered",
      "samples and snapshots that came to a session");
  add_count(report.counters, counters.unwanted_events.value() + counters.unwanted_items.value(),
            "samples_unwanted",
            "samples and snapshots of sessions that had not begun or had ended");
  add(report.counters, counters.undecodable, "undecodable", "events whose bytes made no sense");
  add(report.counters, counters.out_of_order, "out_of_order",
      "events that arrived after a newer one had been handled");
  add(report.counters, counters.order_crowded, "order_crowded",
      "events handled early: too many were waiting to be put in order");
  add(report.counters, counters.processes_evicted, "processes_evicted",
      "processes forgotten: too many were known");
  add(report.counters, counters.mappings_refused, "mappings_refused",
      "mappings not kept: too many were known");
  add(report.counters, counters.unknown_process, "unknown_process",
      "samples of a process that is not known: no file for a frame");
  add(report.counters, counters.unplaced_frames, "unplaced_frames",
      "user frames in no mapping of their process");
  add(report.gauges, counters.processes, "processes", "processes that are known");
  return report;
}

std::string AccountOfSamples(const StageCounters& counters, std::span<const std::uint64_t> kernel) {
  std::uint64_t made = 0;
  for (const auto number :
       {PROFD_COUNTER_ON_CPU_SAMPLES, PROFD_COUNTER_OFF_CPU_SAMPLES, PROFD_COUNTER_WAKERS})
    made += number < kernel.size() ? kernel[number] : 0;
  const std::uint64_t dropped = counters.queue_full.value() + counters.names_behind.value() +
                                counters.memory_events.value() + counters.memory_items.value() +
                                counters.ending_events.value() + counters.ending_items.value();
  const auto say = [](std::uint64_t count, const char* what) {
    return std::to_string(count) + " " + what;
  };
  return "samples: " + say(made, "made, ") +
         say(counters.on_cpu_read.value() + counters.off_cpu_read.value(), "read, ") +
         say(counters.snapshots_read.value(), "snapshots, ") +
         say(counters.wakers_read.value(), "wakers; ") +
         say(counters.samples_delivered.value(), "delivered, ") +
         say(counters.unwanted_events.value() + counters.unwanted_items.value(), "unwanted, ") +
         say(dropped, "dropped");
}

}  // namespace profd::pipeline
