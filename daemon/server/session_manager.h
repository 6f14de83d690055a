// SessionManager: which sessions run, and when each of them ends.
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
#include "daemon/base/result.h"
#include "daemon/pipeline/session.h"
#include "daemon/pipeline/session_backend.h"

namespace profd::server {

struct SessionSummary {
  std::uint32_t id = 0;
  std::string target;
  std::string client;             // who requested it: ClientOf
  std::uint64_t duration_ns = 0;  // 0: until stopped
  pipeline::SessionProgress progress;
};

// A session ends when its time is over, when it is stopped or cancelled, and, where the target is
// a set of pids or tids, when none of its threads is left. A thread of its own sees to it, so that
// a caller that is slow to read cannot make its session longer. Owned by the composition root;
// methods from any thread.
class SessionManager {
 public:
  struct Options {
    std::size_t max_sessions = PROFD_MAX_SESSIONS - 2;  // a history needs two when it rolls
  };

  // Both must outlive this.
  SessionManager(pipeline::SessionBackend& backend, const Clock& clock, const Options& options);
  SessionManager(pipeline::SessionBackend& backend, const Clock& clock)
      : SessionManager(backend, clock, Options{}) {}
  ~SessionManager();
  SessionManager(const SessionManager&) = delete;
  SessionManager& operator=(const SessionManager&) = delete;

  // duration_ns 0: until stopped. kExhausted: `client` (ClientOf) has `max_sessions` already, or
  // there are too many altogether.
  [[nodiscard]] Result<std::shared_ptr<pipeline::Session>> Start(const session::SessionSpec& spec,
                                                                 std::uint64_t duration_ns,
                                                                 const std::string& client,
                                                                 std::size_t max_sessions);
  // Who requested it. kNotFound when there is none such.
  [[nodiscard]] Result<std::string> ClientOfSession(std::uint32_t id) const;
  // Ends it early; whoever waits for it gets the profile. kNotFound when there is none such.
  [[nodiscard]] Result<void> Stop(std::uint32_t id);
  // The caller is done with it: with its profile, or without (then the session ends now).
  void Release(const std::shared_ptr<pipeline::Session>& session);
  // Ends all sessions, and starts no more. Waits for their profiles. After `timeout` those that are
  // left go without an end of their own: the pipeline's is theirs.
  void Shutdown(std::chrono::nanoseconds timeout);

  [[nodiscard]] std::vector<SessionSummary> List() const;

 private:
  struct Entry {
    std::shared_ptr<pipeline::Session> session;
    std::string client;
    std::uint64_t duration_ns = 0;
    std::uint64_t deadline_ns = 0;  // 0: none
    bool gone_before = false;       // target_gone was seen at the last look
  };

  // With mutex_ held: counts one that starts.
  [[nodiscard]] Result<std::uint32_t> Admit(const std::string& client, std::size_t max_sessions);
  void Watch(const std::stop_token& stop);
  [[nodiscard]] std::vector<std::shared_ptr<pipeline::Session>> Due(std::uint64_t now_ns);
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
  std::jthread watcher_;  // last: uses all of the above
};

}  // namespace profd::server
