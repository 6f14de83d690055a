// HistoryRecorder: the background session on the whole host, and what becomes of its windows.
#pragma once

#include <spdlog/logger.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "daemon/base/bounded_queue.h"
#include "daemon/base/clock.h"
#include "daemon/base/counter.h"
#include "daemon/history/history.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/session.h"
#include "daemon/store/api/profile_store.h"

namespace profd::history {

// One thread rolls the session at the end of each window, so that the next one begins at the same
// instant; another one waits for the profiles and puts them into the store, so that a slow disk
// holds up neither the windows nor the pipeline. Windows that the store is too slow for are given
// up and counted. No error is fatal: what fails is tried again with the next window, and said at
// most once a minute. Not a client's session: it counts against nobody's limit. Owned by the
// composition root; Stop before the pipeline's.
class HistoryRecorder : public History {
 public:
  struct Options {
    std::uint32_t frequency_hz = 19;  // on the CPU; marks off it have the same period
    double budget = 0.01;  // of one CPU for every 8 of the host, and at least of one; 0: no limit
    std::chrono::nanoseconds window = std::chrono::seconds(10);
  };

  // All must outlive this.
  HistoryRecorder(pipeline::LivePipeline& pipeline, std::unique_ptr<store::ProfileStore> store,
                  const Clock& clock, spdlog::logger& logger, const Options& options);
  HistoryRecorder(const HistoryRecorder&) = delete;
  HistoryRecorder& operator=(const HistoryRecorder&) = delete;
  ~HistoryRecorder() override;

  // Begins to end the last window. What is not in the store at `end` is lost, and counted.
  void BeginStop(std::chrono::steady_clock::time_point end);
  // Waits until the last window is kept, or is lost. Idempotent; begins by itself.
  void Stop();

  [[nodiscard]] const store::ProfileStore& store() const override { return *store_; }
  [[nodiscard]] HistoryStatus Status() const override;

 private:
  using SessionRef = std::shared_ptr<pipeline::Session>;
  static constexpr double kNoWindow = -1;
  static constexpr auto kNoEnd = std::chrono::steady_clock::time_point::max();

  // Says what goes wrong, at most once a minute.
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
  // The session of the next window; what it ends is handed to the writer.
  void BeginWindow();
  void HandOver(const SessionRef& ended);
  void Write();
  [[nodiscard]] bool AwaitProfile(const pipeline::Session& session);
  Result<void> NotMade();
  // What the store has lost, as soon as it knows.
  void ReportLosses();
  [[nodiscard]] Result<void> Keep(SessionRef session);

  pipeline::LivePipeline& pipeline_;
  const std::unique_ptr<store::ProfileStore> store_;
  const Clock& clock_;
  const Options options_;
  const session::SessionSpec spec_;
  spdlog::logger& logger_;
  Complaints complaints_;
  std::size_t losses_reported_ = 0;  // Write's
  SessionRef session_;               // of the present window; null: it could not be started. Roll's
  std::uint32_t next_id_;
  std::atomic<bool> running_ = false;
  std::atomic<std::uint64_t> lost_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> end_ = kNoEnd;  // of all waiting
  std::atomic<double> closure_error_ = kNoWindow;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  BoundedQueue<SessionRef> ended_;
  std::jthread writer_;
  std::jthread roller_;  // last: the first to be stopped
};

}  // namespace profd::history
