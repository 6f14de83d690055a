// HistoryRecorder: the background session on the whole host, and the way of its windows to the
// store.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/base/bounded_queue.h"
#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/base/heartbeat.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/session.h"
#include "daemon/store/api/profile_store.h"

namespace profd::history {

// Job: keeps a background session running and stores its windows. No error is fatal: after a
// failure the next window tries again, and the log has at most one message a minute. The session
// counts against no client's limit. If the store is too slow, windows are dropped and counted.
// Thread: two of its own. "profd-history" rolls the session at the end of each window, so that the
// next one starts at the same instant. "profd-store" waits for the profiles and stores them, so
// that a slow disk delays neither the windows nor the pipeline. Owner: the composition root, which
// stops it before the pipeline.
class HistoryRecorder : public History {
 public:
  struct Options {
    std::uint32_t frequency_hz = 19;  // on the CPU; sampling points off it have the same period
    double budget = 0.01;  // of one CPU for every 8 of the host, and at least of one; 0: no limit
    std::chrono::nanoseconds window = std::chrono::seconds(10);
    bool observed = false;  // in snapshot mode: no hook runs at context switches
    bool wakers = false;    // who ends waits is captured; not in snapshot mode
  };

  // All must outlive this.
  HistoryRecorder(pipeline::LivePipeline& pipeline, std::unique_ptr<store::ProfileStore> store,
                  const Clock& clock, spdlog::logger& logger, const Options& options);
  HistoryRecorder(const HistoryRecorder&) = delete;
  HistoryRecorder& operator=(const HistoryRecorder&) = delete;
  ~HistoryRecorder() override;

  // Starts to end the last window. Windows that are not in the store at `end` are lost and counted.
  void BeginStop(std::chrono::steady_clock::time_point end);
  // Waits until the last window is stored or lost. Calls BeginStop if that was not called. False:
  // that was not yet so at `until`. Idempotent.
  [[nodiscard]] bool StopUntil(std::chrono::steady_clock::time_point until);
  void Stop() { (void)StopUntil(std::chrono::steady_clock::time_point::max()); }

  [[nodiscard]] std::vector<const Heartbeat*> heartbeats() const { return {&rolling_, &writing_}; }
  [[nodiscard]] const store::ProfileStore& store() const override { return *store_; }
  [[nodiscard]] HistoryStatus Status() const override;

 private:
  using SessionRef = std::shared_ptr<pipeline::Session>;
  static constexpr std::chrono::seconds kStoreBound{120};  // of one window, on a slow disk
  // No closure error is like that.
  static constexpr double kNoWindow = std::numeric_limits<double>::infinity();
  static constexpr auto kNoEnd = std::chrono::steady_clock::time_point::max();

  // Logs failures, at most once a minute.
  class Complaints {
   public:
    explicit Complaints(spdlog::logger& logger) : logger_(logger) {}
    void Say(const std::string& text);

   private:
    spdlog::logger& logger_;
    std::mutex mutex_;
    std::chrono::steady_clock::time_point quiet_until_;
    std::uint64_t unsaid_ = 0;
  };

  void Roll(const std::stop_token& stop);
  // Starts the session of the next window, and gives the previous one to the writer.
  void BeginWindow();
  void HandOver(const SessionRef& ended);
  void Write();
  void NoteEnd();  // of a thread
  // The next window to store; nothing: there are no more.
  [[nodiscard]] std::optional<SessionRef> Next();
  [[nodiscard]] bool AwaitProfile(const pipeline::Session& session);
  Result<void> NotMade();
  // Logs what the store has lost.
  void ReportLosses();
  [[nodiscard]] Result<void> Keep(SessionRef session);

  pipeline::LivePipeline& pipeline_;
  const std::unique_ptr<store::ProfileStore> store_;
  const Clock& clock_;
  const Options options_;
  const session::SessionSpec spec_;
  spdlog::logger& logger_;
  Complaints complaints_;
  std::size_t losses_reported_ = 0;  // used by Write alone
  SessionRef session_;  // of the present window, used by Roll alone; null: it could not be started
  std::uint32_t next_id_;
  std::atomic<bool> running_ = false;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> end_ = kNoEnd;  // of all waiting
  std::atomic<double> worst_closure_error_ = kNoWindow;
  std::atomic<double> sum_closure_error_ = kNoWindow;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  int running_threads_ = 2;  // guarded by mutex_
  BoundedQueue<SessionRef> ended_;
  Heartbeat rolling_{"history"};
  // A disk that does not answer costs windows, which are counted, and no profile.
  Heartbeat writing_{"history store", Heartbeat::NeededFor::kExtras, kStoreBound};
  std::jthread writer_;
  std::jthread roller_;  // last: the first to be stopped
};

}  // namespace profd::history
