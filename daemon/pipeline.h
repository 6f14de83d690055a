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
#include "daemon/base/memory_share.h"
#include "daemon/base/proc_fs.h"
#include "daemon/batch_sender.h"
#include "daemon/decode/event.h"
#include "daemon/health/governor.h"
#include "daemon/health/heartbeats.h"
#include "daemon/health/memory_guard.h"
#include "daemon/health/stage_counters.h"
#include "daemon/health/table_notes.h"
#include "daemon/pipeline_item.h"
#include "daemon/python/python_service.h"
#include "daemon/rpc/session_backend.h"
#include "daemon/source/event_source.h"
#include "daemon/source/session_control.h"
#include "daemon/symbolize/symbolizer.h"

namespace profd {

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
class LivePipeline : public rpc::SessionBackend {
 public:
  // All must outlive the pipeline.
  struct Parts {
    source::EventSource& source;
    source::SessionControl& control;
    symbolize::Symbolizer& symbolizer;
    const Clock& clock;
    const ProcFs& proc;
    spdlog::logger& logger;
    aggregate::ProfileOrigin origin;
    std::string recording_file;               // "": events are not recorded
    std::function<void()> detach;             // the source's programs: no new events after it
    std::function<void()> flush_environment;  // of the recording; on the symbolizer thread
    std::function<Diagnostics()> describe_tables;     // for Status
    std::function<python::PythonStanding()> python_standing;  // for Status
    std::function<health::BudgetStanding()> budget_standing;  // for Status
    std::function<health::MemoryStanding()> memory_standing;  // for Status
    std::function<void()> give_up_memory;                     // of names; on the symbolizer thread
    const MemoryGate& memory;  // shut: samples are dropped, sessions refused
    PipelineLimits limits;
  };

  explicit LivePipeline(Parts parts);
  ~LivePipeline() override;

  [[nodiscard]] Result<std::shared_ptr<rpc::Session>> Start(
      std::uint32_t id, const source::SessionSpec& asked) override;
  void End(const std::shared_ptr<rpc::Session>& session) override;
  // Ends a session on the whole host, which nobody else ends, and starts another one at the same
  // instant (see source::SessionControl::RollSession). In error the old one runs on.
  [[nodiscard]] Result<std::shared_ptr<rpc::Session>> Roll(
      const std::shared_ptr<rpc::Session>& session, std::uint32_t id);
  [[nodiscard]] bool EndsByItself() const override { return false; }
  [[nodiscard]] rpc::BackendStatus Status() const override;
  [[nodiscard]] const health::Heartbeats& heartbeats() const { return beats_; }

  // What the stages hold.
  [[nodiscard]] std::vector<health::MemoryHolder> memory_holders();

  // CPU time of the three stages so far. Not after Stop.
  [[nodiscard]] std::uint64_t StageCpuNs();
  // That have come from the kernel side so far.
  [[nodiscard]] source::PerKind<source::SampleCounts> samples() const {
    return health::SamplesRead(counters_);
  }

  // For an end that comes in time however much waits in the queues: samples that are not handled by
  // then are dropped and counted instead of named. Clocks and lifecycle events still count.
  void HurryIn(std::chrono::nanoseconds time);
  // Detaches the kernel side, lets every stage finish what it has, and ends the threads. Sessions
  // that still run fail. Idempotent.
  void Stop();

 private:
  using EventBatch = Batch<decode::Event>;
  using ItemBatch = Batch<PipelineItem>;
  struct Expected {
    std::shared_ptr<rpc::Session> session;
    std::optional<std::uint32_t> slot;  // once StartSession has returned
  };

  using StartSession = std::function<Result<source::StartedSession>()>;

  // With start_mutex_ held.
  [[nodiscard]] Result<std::shared_ptr<rpc::Session>> StartExpected(
      std::uint32_t id, const source::SessionSpec& spec, const StartSession& start_session);
  void Count(const decode::StackEvent& event);  // the reader
  [[nodiscard]] bool Hurries() const;
  void Read(const std::stop_token& stop);
  void Work();
  void Symbolize();
  [[nodiscard]] std::shared_ptr<rpc::Session> TakeExpected(const decode::SessionEvent& event);
  void SetFailure(Error error);
  void FailAll(SymbolizerStage& stage);

  const Parts parts_;
  health::StageCounters counters_;
  health::Heartbeats beats_;
  std::atomic<std::uint64_t> hurry_ns_ = UINT64_MAX;
  struct {
    MemoryShare queues;
    MemoryShare processes;
    MemoryShare frames;
    MemoryShare sessions;
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

}  // namespace profd
