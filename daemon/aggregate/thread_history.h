// ThreadHistory: what one session learns of one thread's life, and what follows from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/aggregate/clipping.h"
#include "daemon/base/keys.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// One end of a session: the epoch's number and its instant.
struct Instant {
  std::uint64_t epoch = 0;  // 0: none; no readings belong to it
  std::uint64_t time_ns = 0;
};

// A thread inside the session. Begin and end come from another clock than the one summed: the
// session's instants, the fork, and the time stamp of the thread's end.
struct Lifetime {
  Window window;
  profd_clock clock{};
  bool began = false;
  bool exited = false;  // died; one that left the session did not
  bool clock_missing = true;
  // Set when the thread is blocked at the end of the window: when that began (maybe before it).
  std::optional<std::uint64_t> blocked_since_ns;
};

// Used by one thread. Keeps at most `kMaxReadings` readings: the first and the latest ones.
class ThreadHistory {
 public:
  ThreadHistory(const ThreadKey& key, const ProcessKey& process) : key_(key), process_(process) {}

  void OnFork(const wire::ForkEvent& event);
  void OnClock(const wire::ClockEvent& event);
  void OnExit(const wire::ExitEvent& event);
  // A thread that executes a program while it is not the leader takes over the leader's identity.
  void Rename(const ThreadKey& key, const ProcessKey& process);
  void SetComm(const std::string& comm);

  [[nodiscard]] Lifetime Resolve(const Instant& start, const Instant& end) const;

  [[nodiscard]] const ThreadKey& key() const { return key_; }
  [[nodiscard]] const ProcessKey& process() const { return process_; }
  [[nodiscard]] const std::string& comm() const { return comm_; }
  // Seen alive and not yet seen to end or to leave the session.
  [[nodiscard]] bool alive() const { return seen_ && !end_; }
  // Whether this event tells of the same thread's next stay in the session, after it had left: that
  // one has a history of its own.
  [[nodiscard]] bool RejoinsWith(const wire::ClockEvent& event) const {
    return end_ && !end_->died && !event.end && event.header.time_ns > end_->time_ns;
  }

 private:
  static constexpr std::size_t kMaxReadings = 6;

  struct Reading {
    Instant at;
    std::uint64_t since_ns = 0;
    profd_thread_state state = PROFD_STATE_ON_CPU;
    profd_clock totals{};
  };
  struct End {
    std::uint64_t time_ns = 0;
    profd_clock totals{};
    bool died = false;  // else it left the session and lives on
  };

  void AddReading(const wire::ClockEvent& event);
  [[nodiscard]] std::optional<Reading> FirstReading(const Instant& start, const Instant& end) const;
  [[nodiscard]] std::optional<Reading> LastReading(const Instant& start, const Instant& end) const;

  ThreadKey key_;
  ProcessKey process_;
  std::string comm_;
  bool seen_ = false;
  std::uint64_t fork_ns_ = 0;         // 0: not seen
  std::uint64_t exit_ns_ = 0;         // 0: not seen
  std::uint64_t clock_begin_ns_ = 0;  // 0: no clock event yet
  std::vector<Reading> readings_;     // ascending by epoch
  std::optional<End> end_;
};

}  // namespace profd::aggregate
