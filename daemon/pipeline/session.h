// Session: one running collection, between the pipeline that feeds it and the caller that waits for
// it; and the interface to what runs sessions.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/aggregate/dump.h"
#include "daemon/aggregate/profile.h"
#include "daemon/base/clock.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/budget/share/shares.h"
#include "daemon/session/session_control.h"

namespace profd::pipeline {

// Who has gone beyond a share of what profd does for all, by now.
using BeyondShares = std::function<std::vector<budget::BeyondShare>()>;

// What is known when a session starts. Processes only if the target names them.
struct SessionStart {
  std::vector<aggregate::ProfileProcess> processes;
  std::uint32_t threads = 0;
  std::uint64_t start_ns = 0;  // CLOCK_MONOTONIC, to a few ms; the profile has it exactly
  std::uint64_t start_unix_ns = 0;
};

// The arguments of a process as /proc has them; "" when they cannot be read. They are read from its
// memory, so it may hold up who reads them.
using ReadCommandLine = std::function<std::string(std::uint32_t pid)>;

// The pids of a target of labels, of profd's own pid namespace. kNotFound: none has them.
using FindLabelled =
    std::function<Result<std::vector<std::uint32_t>>(const session::Target& target)>;

// The processes and the number of threads that /proc shows now for a target of pids or tids of
// profd's own pid namespace; nothing for other targets. At most 64 processes. Times are left 0.
[[nodiscard]] SessionStart DescribeTarget(const session::Target& target, const ProcFs& proc,
                                          const ReadCommandLine& command_line);

// Inode of the pid namespace in which profd runs; 0: /proc does not show it.
[[nodiscard]] std::uint32_t OwnPidNamespace(const ProcFs& proc);

struct SessionProgress {
  std::uint64_t elapsed_ns = 0;
  std::uint64_t samples = 0;
  std::uint64_t lost = 0;
  std::uint32_t threads = 0;  // alive
  bool finishing = false;     // has ended; its profile is being made
  bool target_gone = false;   // had threads, and none is alive
};

// Job: carries progress and the result from the pipeline to the caller that has started the
// session. The pipeline reports, and finishes it once; the caller waits.
// Thread: all methods may be called from any thread.
// Owner: shared by the pipeline and the caller. It does not end itself: SessionBackend::End does.
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
  // Sets the result that the caller waits for. Later calls change nothing.
  void Finish(Result<aggregate::ProfileRef> result);
  // The same for a session whose spec has `dump`.
  void FinishDump(aggregate::DumpRef dump);
  // The caller has left: its profile is not built.
  [[nodiscard]] bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }
  // Short-lived processes and threads get no rows of their own.
  [[nodiscard]] bool groups_short_lived() const {
    return groups_short_lived_.load(std::memory_order_relaxed);
  }

  // --- the thread that ends it
  // True for the first caller, which must then end the session. The elapsed time stops here.
  [[nodiscard]] bool BeginEnd();
  // For a profile that waits long until it is stored: it takes less memory then.
  void GroupShortLived() { groups_short_lived_.store(true, std::memory_order_relaxed); }
  void Abandon() { abandoned_.store(true, std::memory_order_relaxed); }

  // --- the caller that waits
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
  std::atomic<bool> groups_short_lived_ = false;
  std::atomic<bool> abandoned_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  std::optional<Result<aggregate::ProfileRef>> result_;
  aggregate::DumpRef dump_;
};

// Job: runs sessions, on a live kernel or on a recording. Thread: all methods may be called from
// any thread. Owner: the composition root.
class SessionBackend {
 public:
  virtual ~SessionBackend() = default;
  // The caller chooses the id, which must be free. kNotFound: no process has the labels of the
  // target.
  [[nodiscard]] virtual Result<std::shared_ptr<Session>> Start(
      std::uint32_t id, const session::SessionSpec& spec) = 0;
  // Ends a session; only after its BeginEnd() returned true to the caller. The session finishes
  // soon afterwards, with a profile or with an error.
  virtual void End(const std::shared_ptr<Session>& session) = 0;
  // True if a session lasts as long as its recording, not as long as requested.
  [[nodiscard]] virtual bool EndsByItself() const = 0;
};

}  // namespace profd::pipeline
