// ThreadHistory: the events of one thread within one session, and the lifetime that follows from
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/events.h"
#include "daemon/aggregate/weights/lifetime.h"
#include "daemon/base/keys.h"
#include "daemon/wire/event.h"

namespace profd::aggregate {

// The start or the end of a session.
struct Instant {
  std::uint64_t epoch = 0;  // its number; 0: no readings belong to it
  std::uint64_t time_ns = 0;
};

// Belongs to a ProfileBuilder; used by its thread. Events must come in order of time. It keeps at
// most `kMaxReadings` readings of the clock: the first one and the latest ones.
class ThreadHistory {
 public:
  ThreadHistory(const ThreadKey& key, const ProcessKey& process) : key_(key), process_(process) {}

  void OnFork(const wire::ForkEvent& event);
  void OnClock(const wire::ClockEvent& event);
  void OnExit(const wire::ExitEvent& event);
  // For a thread that executes a program and is not the leader: the kernel gives it the leader's
  // identity.
  void Rename(const ThreadKey& key, const ProcessKey& process);
  void SetComm(const std::string& comm);
  // A sample has seen it on this CPU.
  void OnSeen(std::uint32_t cpu);

  // The lifetime inside [start, end]. An empty window: the thread has no time there.
  [[nodiscard]] Lifetime Resolve(const Instant& start, const Instant& end) const;

  [[nodiscard]] const ThreadKey& key() const { return key_; }
  [[nodiscard]] const ProcessKey& process() const { return process_; }
  [[nodiscard]] const std::string& comm() const { return comm_; }
  [[nodiscard]] const std::vector<std::uint16_t>& cpus() const { return cpus_; }  // ascending
  // A fork, a clock or an exit of the thread has come.
  [[nodiscard]] bool has_events() const { return seen_ || exit_ns_ != 0; }
  // An event has shown the thread, and none has shown that it died or left the session.
  [[nodiscard]] bool alive() const { return seen_ && !end_; }
  // True if the thread had left the session and this event shows that it is back. The new stay
  // needs a history of its own.
  [[nodiscard]] bool RejoinsWith(const wire::ClockEvent& event) const {
    return end_ && !end_->died && !event.end && event.header.time_ns > end_->time_ns;
  }

 private:
  static constexpr std::size_t kMaxReadings = 6;

  struct Reading {
    Instant at;
    std::optional<std::uint64_t> since_ns;  // nothing: not known
    profd_thread_state state = PROFD_STATE_ON_CPU;
    profd_clock totals{};
    std::optional<profd_moves> moves;  // nothing: not counted
  };
  struct End {
    std::uint64_t time_ns = 0;
    profd_clock totals{};
    bool died = false;  // false: it left the session and lives on
    std::optional<profd_moves> moves;
  };

  void AddReading(const wire::ClockEvent& event);
  [[nodiscard]] std::optional<Reading> FirstReading(const Instant& start, const Instant& end) const;
  [[nodiscard]] std::optional<Reading> LastReading(const Instant& start, const Instant& end) const;

  ThreadKey key_;
  ProcessKey process_;
  std::string comm_;
  bool seen_ = false;
  std::uint64_t fork_ns_ = 0;         // 0: no fork event
  std::uint64_t exit_ns_ = 0;         // 0: no exit event
  std::uint64_t clock_begin_ns_ = 0;  // 0: no clock event yet
  std::vector<Reading> readings_;     // ascending by epoch
  std::vector<std::uint16_t> cpus_;
  std::optional<End> end_;
  std::optional<End> earlier_end_;  // as it was reported before
};

}  // namespace profd::aggregate
