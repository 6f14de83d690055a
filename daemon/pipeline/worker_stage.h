// WorkerStage: the second stage of the pipeline. It orders events, keeps the process table and
// makes samples.
#pragma once

#include <cstdint>
#include <functional>

#include "daemon/pipeline/stage_counters.h"
#include "daemon/pipeline/stage_queue.h"
#include "daemon/process/process_table.h"
#include "daemon/process/sampler.h"
#include "daemon/python/merge/stack_merger.h"
#include "daemon/wire/event.h"
#include "daemon/wire/orderer.h"

namespace profd::pipeline {

// Job: takes decoded events in the order of their arrival and makes items in order of time. It does
// no I/O, so a replay gives the same result.
// Thread: the worker thread; in a replay, the thread of the replay.
// Owner: LivePipeline or ReplayRun.
class WorkerStage {
 public:
  using Sink = std::function<void(PipelineItem&&)>;
  // The sessions of an event, in place of those in its header; it may change for which sessions the
  // thread is followed. Called after the process table has the event.
  using Selector =
      std::function<std::uint64_t(wire::Event& event, const process::ProcessTable& table)>;

  // `counters` must outlive this. No selector: the header's sessions.
  WorkerStage(StageCounters& counters, Sink sink, Selector selector = nullptr);

  void Push(wire::Event&& event);
  // See ProcessTable.
  void AccountForMemory(budget::MemoryAccount& processes) { table_.AccountForMemory(processes); }
  [[nodiscard]] std::size_t held() const { return orderer_.held(); }
  // See Orderer::Advance.
  void Advance(std::uint64_t now_ns);
  // Handles all events that are left; no more will come.
  void Flush();

 private:
  void Handle(wire::Event&& event);
  void CountOrder();
  void CountProcesses();

  StageCounters& counters_;
  const Sink sink_;
  const Selector selector_;
  process::ProcessTable table_;
  process::Sampler sampler_;
  python::StackMerger python_;
  wire::Orderer orderer_;  // last: its sink uses all of the above
};

}  // namespace profd::pipeline
