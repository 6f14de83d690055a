// WorkerStage: second stage of the pipeline: order, process table, samples.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/decode/event.h"
#include "daemon/decode/orderer.h"
#include "daemon/health/stage_counters.h"
#include "daemon/pipeline_item.h"
#include "daemon/process/process_table.h"
#include "daemon/process/sampler.h"
#include "daemon/python/stack_merger.h"

namespace profd {

// Takes decoded events in order of arrival, gives items in order of time. Does no I/O, so that a
// replay gives the same. Used by the worker thread.
class WorkerStage {
 public:
  using Sink = std::function<void(PipelineItem&&)>;
  // Which sessions an event counts for, instead of those in its header. Called after the process
  // table knows the event.
  using Selector =
      std::function<std::uint64_t(const decode::Event& event, const process::ProcessTable& table)>;

  // `counters` must outlive this. No selector: the header's sessions.
  WorkerStage(health::StageCounters& counters, Sink sink, Selector selector = nullptr);

  void Push(decode::Event&& event);
  // Of what is known of processes, and of events that are held; see ProcessTable.
  void AccountForMemory(MemoryShare& processes) { table_.AccountForMemory(processes); }
  [[nodiscard]] std::size_t held() const { return orderer_.held(); }
  // See Orderer::Advance.
  void Advance(std::uint64_t now_ns);
  // Nothing more will come.
  void Flush();

 private:
  void Handle(decode::Event&& event);
  void CountOrder();
  void CountProcesses();

  health::StageCounters& counters_;
  const Sink sink_;
  const Selector selector_;
  process::ProcessTable table_;
  process::Sampler sampler_;
  python::StackMerger python_;
  decode::Orderer orderer_;  // last: its sink uses all of the above
};

}  // namespace profd
