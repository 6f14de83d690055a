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
#include "daemon/base/heartbeat.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/budget/memory/memory_account.h"
#include "daemon/budget/memory/memory_budget.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/stage_counters.h"
#include "daemon/pipeline/stage_queue.h"
#include "daemon/session/session_control.h"
#include "daemon/symbolize/names/symbolizer.h"
#include "daemon/wire/event.h"
#include "daemon/wire/event_source.h"

namespace profd::pipeline {

class SymbolizerStage;

// What finds the names of frames, with what it needs besides questions. The symbolizer thread calls
// all methods.
class NameService {
 public:
  virtual ~NameService() = default;
  [[nodiscard]] virtual symbolize::Symbolizer& symbolizer() = 0;
  // After each batch: frees the memory that the memory budget has requested.
  virtual void ReclaimMemory() {}
  // Once a second, and at the end: puts what names are made from into the recording, if there is
  // one.
  virtual void RecordEnvironment() {}
};

// Job: runs the stages on three threads. The reader polls and decodes, and never waits for the
// others; the worker runs WorkerStage; the symbolizer thread runs SymbolizerStage. Between them are
// bounded queues. A stage that falls behind loses samples, which are counted, and never clocks or
// lifecycle events.
// Thread: all methods may be called from any thread, except where one says otherwise.
// Owner: the composition root. It runs from construction to Stop.
class LivePipeline : public SessionBackend {
 public:
  // All must outlive the pipeline.
  struct Parts {
    wire::EventSource& source;
    session::SessionControl& control;
    NameService& names;
    const Clock& clock;
    const ProcFs& proc;
    spdlog::logger& logger;
    const budget::MemoryBudget& memory;  // full: samples are dropped, sessions refused
    aggregate::ProfileOrigin origin;
    ProcFs cgroups{"/sys/fs/cgroup"};  // where the hierarchy (version 2) is mounted
    ReadCommandLine command_line{};    // called by one thread at a time; null: none is known
    BeyondShares beyond_shares{};      // of work of names; any thread; null: none is known
    FindLabelled find_labelled{};      // any thread; null: there are no targets of labels
  };

  explicit LivePipeline(Parts parts);
  ~LivePipeline() override;

  [[nodiscard]] Result<std::shared_ptr<Session>> Start(
      std::uint32_t id, const session::SessionSpec& requested) override;
  void End(const std::shared_ptr<Session>& session) override;
  // Ends a session on the whole host and starts the next one at the same instant (see
  // SessionControl::RollSession). The caller alone may end `session`. On error it runs on.
  [[nodiscard]] Result<std::shared_ptr<Session>> Roll(const std::shared_ptr<Session>& session,
                                                      std::uint32_t id);
  [[nodiscard]] bool EndsByItself() const override { return false; }
  [[nodiscard]] const StageCounters& counters() const { return counters_; }
  [[nodiscard]] std::vector<const Heartbeat*> heartbeats() const {
    return {&beats_.reader, &beats_.worker, &beats_.symbolizer};
  }

  // What the stages hold, in the order in which they must free memory.
  [[nodiscard]] std::vector<budget::MemoryAccount*> memory_accounts();

  // CPU time of the three stages so far. Must not be called after Stop.
  [[nodiscard]] std::uint64_t StageCpuNs();
  // Samples that the reader has got so far.
  [[nodiscard]] session::PerKind<session::SampleCounts> samples() const {
    return SamplesRead(counters_);
  }

  // Limits the time that the queues take: samples that wait longer are dropped and counted. Clocks
  // and lifecycle events are still handled.
  void FinishWithin(std::chrono::nanoseconds time);
  // Detaches the BPF side, lets each stage finish its queue, and ends the threads. Sessions that
  // still run fail. Idempotent.
  void Stop();

 private:
  using EventBatch = Batch<wire::Event>;
  using ItemBatch = Batch<PipelineItem>;
  struct Expected {
    std::shared_ptr<Session> session;
    std::optional<std::uint32_t> slot;  // set once StartSession has returned
  };

  using StartSession = std::function<Result<session::StartedSession>()>;

  // Makes pids of a target of labels.
  [[nodiscard]] Result<void> Resolve(session::SessionSpec& spec) const;
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
  struct {
    Heartbeat reader{"reader"};
    Heartbeat worker{"worker"};
    Heartbeat symbolizer{"symbolizer"};
  } beats_;
  std::atomic<std::uint64_t> deadline_ns_ = UINT64_MAX;
  struct {
    budget::MemoryAccount queues{"queues", false};
    budget::MemoryAccount processes{"processes"};
    budget::MemoryAccount frames{"frames"};
    budget::MemoryAccount sessions{"sessions", false};
  } memory_;
  BoundedQueue<EventBatch> events_;
  BoundedQueue<ItemBatch> items_;

  std::mutex start_mutex_;  // one StartSession at a time, so that start events come in its order
  mutable std::mutex mutex_;
  std::deque<Expected> expected_;                 // sessions that wait for their start event
  std::map<std::uint32_t, std::uint32_t> slots_;  // session id -> the source's number of it
  std::optional<Error> failure_;                  // why there are no more events

  std::jthread symbolizer_thread_;
  std::jthread worker_thread_;
  std::jthread reader_thread_;  // last: the first to be stopped
};

}  // namespace profd::pipeline
