// LivePipeline: from the kernel's events to profiles, on three threads.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/aggregate/profile_builder.h"
#include "daemon/base/bounded_queue.h"
#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/proc_fs.h"
#include "daemon/budget/memory_guard.h"
#include "daemon/budget/memory_share.h"
#include "daemon/pipeline/batch_sender.h"
#include "daemon/pipeline/heartbeats.h"
#include "daemon/pipeline/pipeline_item.h"
#include "daemon/pipeline/session_backend.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/session/session_control.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "daemon/wire/event.h"
#include "daemon/wire/event_source.h"

namespace profd::pipeline {

class SymbolizerStage;

// How much the pipeline may hold, in whole batches of its queues and of each session.
struct PipelineLimits {
  std::size_t event_batches;  // between reader and worker
  std::size_t item_batches;   // between worker and symbolizer
  aggregate::ProfileBuilder::Limits session;
};

// reader: polls and decodes, never waits for the others; worker: WorkerStage; symbolizer:
// SymbolizerStage. Between them are bounded queues; a stage that falls behind loses samples, which
// are counted, and never clocks or lifecycle events. Owned by the composition root; runs from
// construction to Stop.
class LivePipeline : public SessionBackend {
 public:
  // All must outlive the pipeline.
  struct Parts {
    wire::EventSource& source;
    session::SessionControl& control;
    symbolize::Symbolizer& symbolizer;
    const Clock& clock;
    const ProcFs& proc;
    spdlog::logger& logger;
    aggregate::ProfileOrigin origin;
    std::function<void()> detach;             // the source's programs: no new events after it
    std::function<void()> flush_environment;  // of the recording; on the symbolizer thread
    std::function<void()> reclaim_memory;     // of names, if requested; on the symbolizer thread
    const budget::MemoryGate& memory;         // shut: samples are dropped, sessions refused
    PipelineLimits limits;
  };

  explicit LivePipeline(Parts parts);
  ~LivePipeline() override;

  [[nodiscard]] Result<std::shared_ptr<Session>> Start(
      std::uint32_t id, const session::SessionSpec& requested) override;
  void End(const std::shared_ptr<Session>& session) override;
  // Ends a session on the whole host, which nobody else ends, and starts another one at the same
  // instant (see source::SessionControl::RollSession). In error the old one runs on.
  [[nodiscard]] Result<std::shared_ptr<Session>> Roll(const std::shared_ptr<Session>& session,
                                                      std::uint32_t id);
  [[nodiscard]] bool EndsByItself() const override { return false; }
  [[nodiscard]] const StageCounters& counters() const { return counters_; }
  [[nodiscard]] const Heartbeats& heartbeats() const { return beats_; }

  // What the stages hold.
  [[nodiscard]] std::vector<budget::MemoryHolder> memory_holders();

  // CPU time of the three stages so far. Not after Stop.
  [[nodiscard]] std::uint64_t StageCpuNs();
  // That have come from the kernel side so far.
  [[nodiscard]] session::PerKind<session::SampleCounts> samples() const {
    return SamplesRead(counters_);
  }

  // For an end that comes in time however much waits in the queues: samples that are not handled by
  // then are dropped and counted instead of named. Clocks and lifecycle events still count.
  void FinishWithin(std::chrono::nanoseconds time);
  // Detaches the kernel side, lets every stage finish what it has, and ends the threads. Sessions
  // that still run fail. Idempotent.
  void Stop();

 private:
  using EventBatch = Batch<wire::Event>;
  using ItemBatch = Batch<PipelineItem>;
  struct Expected {
    std::shared_ptr<Session> session;
    std::optional<std::uint32_t> slot;  // once StartSession has returned
  };

  using StartSession = std::function<Result<session::StartedSession>()>;

  // With start_mutex_ held.
  [[nodiscard]] Result<std::shared_ptr<Session>> StartExpected(std::uint32_t id,
                                                               const session::SessionSpec& spec,
                                                               const StartSession& start_session);
  void Count(const wire::StackEvent& event);  // the reader
  [[nodiscard]] bool IsPastDeadline() const;
  void Read(const std::stop_token& stop);
  void Work();
  void Symbolize();
  [[nodiscard]] std::shared_ptr<Session> TakeExpected(const wire::SessionEvent& event);
  void SetFailure(Error error);
  void FailAll(SymbolizerStage& stage);

  const Parts parts_;
  StageCounters counters_;
  Heartbeats beats_;
  std::atomic<std::uint64_t> deadline_ns_ = UINT64_MAX;
  struct {
    budget::MemoryShare queues;
    budget::MemoryShare processes;
    budget::MemoryShare frames;
    budget::MemoryShare sessions;
  } memory_;
  BoundedQueue<EventBatch> events_;
  BoundedQueue<ItemBatch> items_;

  std::mutex start_mutex_;  // one StartSession at a time: starts and their events have one order
  mutable std::mutex mutex_;
  std::deque<Expected> expected_;                 // sessions whose start event has not come yet
  std::map<std::uint32_t, std::uint32_t> slots_;  // session id -> the source's number of it
  std::optional<Error> failure_;                  // why there are no more events

  std::jthread symbolizer_thread_;
  std::jthread worker_thread_;
  std::jthread reader_thread_;  // last: the first to be stopped
};

}  // namespace profd::pipeline
