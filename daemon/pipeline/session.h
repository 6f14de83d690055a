// Session: one running collection, between the pipeline that feeds it and whoever waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/aggregate/dump.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/clock.h"
#include "daemon/base/result.h"
#include "daemon/session/session_control.h"

namespace profd::pipeline {

// What is known when a session starts. Processes only where the target names them.
struct SessionStart {
  std::vector<aggregate::ProfileProcess> processes;
  std::uint32_t threads = 0;
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC, to a few ms; the profile has it exactly
  std::uint64_t start_unix_ns = 0;
};

struct SessionProgress {
  std::uint64_t elapsed_ns = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::uint32_t threads = 0;  // alive
  bool finishing = false;     // has ended; its profile is being made
  bool target_gone = false;   // had threads, and none is alive
};

// Shared by the pipeline and the RPC side; all methods from any thread. The pipeline reports and
// finishes, exactly once; the other side waits. Ending a session is its backend's business.
class Session {
 public:
  // `clock` must outlive this.
  Session(std::uint32_t id, session::SessionSpec spec, SessionStart start, const Clock& clock);

  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] const session::SessionSpec& spec() const { return spec_; }
  [[nodiscard]] const SessionStart& start() const { return start_; }

  // CLOCK_MONOTONIC; exact once the pipeline has reported it.
  [[nodiscard]] std::uint64_t begin_ns() const { return begin_ns_; }

  // --- pipeline
  void ReportBegin(std::uint64_t begin_ns) { begin_ns_ = begin_ns; }
  void Report(std::uint64_t samples, std::uint64_t lost, std::uint32_t threads);
  void ReportTargetGone(bool gone) { target_gone_.store(gone, std::memory_order_relaxed); }
  // The result for whoever waits. Later calls change nothing.
  void Finish(Result<aggregate::ProfileRef> result);
  // The same for a session whose spec says `dump`.
  void FinishDump(aggregate::DumpRef dump);
  // Nobody waits any more: the profile need not be made.
  [[nodiscard]] bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

  // --- whoever ends it
  // True for the first caller, who then ends it; the elapsed time stands still from now on.
  [[nodiscard]] bool BeginEnd();
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }

  // --- whoever waits
  [[nodiscard]] SessionProgress Progress() const;
  // True as soon as there is a result.
  [[nodiscard]] bool WaitFinished(std::chrono::nanoseconds timeout) const;
  // Only after WaitFinished returned true.
  [[nodiscard]] Result<aggregate::ProfileRef> result() const;
  [[nodiscard]] Result<aggregate::DumpRef> dump() const;

 private:
  const std::uint32_t id_;
  const session::SessionSpec spec_;
  const SessionStart start_;
  const Clock& clock_;
  std::atomic<std::uint64_t> begin_ns_;
  std::atomic<std::uint64_t> samples_ = 0;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<std::uint32_t> threads_ = 0;
  std::atomic<std::uint64_t> ended_ns_ = 0;  // 0: not yet
  std::atomic<bool> target_gone_ = false;
  std::atomic<bool> abandoned_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  std::optional<Result<aggregate::ProfileRef>> result_;
  aggregate::DumpRef dump_;
};

}  // namespace profd::pipeline
