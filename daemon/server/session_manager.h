// SessionManager: the sessions of clients that run, and when each of them ends.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "bpf/shared/limits.h"
#include "daemon/base/clock.h"
#include "daemon/base/heartbeat.h"
#include "daemon/base/result.h"
#include "daemon/pipeline/session.h"

namespace profd::server {

struct SessionSummary {
  std::uint32_t id = 0;
  std::string target;
  std::string client;             // that requested it: ClientName
  std::uint64_t duration_ns = 0;  // 0: until stopped
  pipeline::SessionProgress progress;
};

// A session ends when its time is over, or when it is stopped or cancelled. A session of pids or
// tids also ends when none of its threads is left. The manager's own thread ends sessions, so a
// client that reads slowly cannot make its session longer. Owned by the composition root; methods
// may be called from any thread.
class SessionManager {
 public:
  struct Options {
    std::size_t max_sessions = PROFD_MAX_SESSIONS - 2;  // the history needs two while it rolls
  };

  // Both must outlive this.
  SessionManager(pipeline::SessionBackend& backend, const Clock& clock, const Options& options);
  SessionManager(pipeline::SessionBackend& backend, const Clock& clock)
      : SessionManager(backend, clock, Options{}) {}
  ~SessionManager();
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;

  // duration_ns 0: until stopped. kExhausted: `client` (ClientName) already has `max_sessions`, or
  // all clients together have too many.
  [[nodiscard]] Result<std::shared_ptr<pipeline::Session>> Start(const session::SessionSpec& spec,
                                                                 std::uint64_t duration_ns,
                                                                 const std::string& client,
                                                                 std::size_t max_sessions);
  // The client that requested the session. kNotFound: there is no such session.
  [[nodiscard]] Result<std::string> SessionClient(std::uint32_t id) const;
  // Ends the session early; its client gets the profile. kNotFound: there is no such session.
  [[nodiscard]] Result<void> Stop(std::uint32_t id);
  // Removes the session when its call ends. If the session still runs, it ends now, without a
  // profile.
  void Release(const std::shared_ptr<pipeline::Session>& session);
  // Ends all sessions, starts no more, and waits for their profiles. Sessions that are left after
  // `timeout` end with the pipeline.
  void Shutdown(std::chrono::nanoseconds timeout);

  [[nodiscard]] std::vector<SessionSummary> List() const;
  [[nodiscard]] const Heartbeat& heartbeat() const { return beat_; }

 private:
  struct Entry {
    std::shared_ptr<pipeline::Session> session;
    std::string client;
    std::uint64_t duration_ns = 0;
    std::uint64_t deadline_ns = 0;  // 0: none
    bool gone_before = false;       // the last check has found that the target is gone
  };

  // Counts a session that starts, and returns its id. Needs mutex_, as Overdue does.
  [[nodiscard]] Result<std::uint32_t> Admit(const std::string& client, std::size_t max_sessions);
  void Watch(const std::stop_token& stop);
  // The sessions whose time is over or whose target is gone.
  [[nodiscard]] std::vector<std::shared_ptr<pipeline::Session>> Overdue(std::uint64_t now_ns);
  void End(const std::shared_ptr<pipeline::Session>& session);

  pipeline::SessionBackend& backend_;
  const Clock& clock_;
  const Options options_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::uint32_t, Entry> entries_;
  std::map<std::string, std::size_t> starting_;  // by client
  std::uint32_t next_id_ = 1;
  bool closed_ = false;
  Heartbeat beat_{"sessions"};
  std::jthread watcher_;  // last: uses all of the above
};

}  // namespace profd::server
