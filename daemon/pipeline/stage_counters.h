// StageCounters: what the stages read, deliver and drop.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/base/named_count.h"
#include "daemon/python/merge/stack_merger.h"
#include "daemon/session/session_control.h"

namespace profd::pipeline {

// One per pipeline. Each counter has one writer, named here; any thread may read.
struct StageCounters {
  // Of the samples that are read, each is delivered, unwanted, dropped or on its way.
  Counter on_cpu_read;              // reader
  Counter off_cpu_read;             // reader
  Counter background_on_cpu_read;   // reader: the part of it from background sessions
  Counter background_off_cpu_read;  // reader: the same
  Counter snapshots_read;           // reader: stacks of threads that stay blocked
  Counter wakers_read;              // reader: stacks of those who end waits
  Counter others_read;              // reader: events that are none of these
  Counter samples_delivered;        // symbolizer: to one session or several
  Counter unwanted_events;          // worker: of sessions that had not begun, or had ended
  Counter unwanted_items;           // symbolizer: the same
  Counter undecodable;              // reader: events whose bytes are invalid
  Counter queue_full;               // reader: samples dropped because the worker was behind
  Counter names_behind;             // worker: samples dropped because the symbolizer was behind
  Counter memory_events;            // reader: samples dropped because memory was short
  Counter memory_items;             // symbolizer: the same
  Counter ending_events;            // reader: samples dropped because profd was ending
  Counter ending_items;             // symbolizer: the same
  Counter out_of_order;             // worker: events that came after a newer one had been handled
  Counter order_crowded;            // worker: events handled early because too many were held
  // worker: of the process table, and of stacks that it has placed
  Counter processes;             // a level: known now
  Counter processes_evicted;     // forgotten, to make room
  Counter mappings_refused;      // mappings and modules beyond a bound
  Counter unknown_process;       // samples of a process that is not known
  Counter unplaced_frames;       // user frames in no mapping of their process
  python::MergeCounters python;  // worker
};

[[nodiscard]] session::PerKind<session::SampleCounts> SamplesRead(const StageCounters& counters);

struct StageReport {
  std::vector<NamedCount> dropped;
  std::vector<NamedCount> counters;
  std::vector<NamedCount> gauges;  // go up and down
};

// All counters with their descriptions, including those that are zero.
[[nodiscard]] StageReport Describe(const StageCounters& counters);

// One line with all counts of samples. `kernel`: the source's counters, by number. When all queues
// are empty, made = read, and read + snapshots = delivered + unwanted + dropped.
[[nodiscard]] std::string AccountOfSamples(const StageCounters& counters,
                                           std::span<const std::uint64_t> kernel);

}  // namespace profd::pipeline
