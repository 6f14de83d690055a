// Heartbeat: whether one thread of profd still makes progress.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace profd {

// Job: shows other threads whether its own thread is stuck. That thread beats at the end of each
// round, and is stuck when a round takes `bound`. A thread that has regular rounds also when there
// is nothing to do beats always, so that one that is never woken is noticed. Only a wait that may
// last for ever is marked as Waiting. Time is CLOCK_MONOTONIC. Thread: its own thread writes; any
// thread may read. Owner: the owner of the thread. It does not promise that a thread that beats
// does its work well.
class Heartbeat {
 public:
  enum class NeededFor : std::uint8_t {
    kProfiles,  // without it profiles stop or are wrong: a restart of profd is better
    kExtras,    // profiles are complete without it, and a restart would lose them
  };
  static constexpr std::chrono::seconds kBound{30};  // half of the watchdog's time in profd.service

  // `thread` names it for people.
  explicit Heartbeat(std::string thread, NeededFor needed_for = NeededFor::kProfiles,
                     std::chrono::seconds bound = kBound)
      : thread_(std::move(thread)), needed_for_(needed_for), bound_(bound) {}
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat() = default;

  // --- its thread
  // The whole function of a thread. A thread that has not begun or has ended is not stuck.
  class Working {
   public:
    explicit Working(Heartbeat& beat) : beat_(beat) { beat_.Beat(); }
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;
    ~Working() { beat_.Rest(); }

   private:
    Heartbeat& beat_;
  };
  // A wait that may last for ever. A new round follows.
  class Waiting {
   public:
    explicit Waiting(Heartbeat& beat) : beat_(beat) { beat_.Rest(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    ~Waiting() { beat_.Beat(); }

   private:
    Heartbeat& beat_;
  };
  // A round has ended, and the next one begins.
  void Beat();

  // --- any thread
  [[nodiscard]] const std::string& thread() const { return thread_; }
  [[nodiscard]] NeededFor needed_for() const { return needed_for_; }
  // For how long the present round has lasted; 0: it waits.
  [[nodiscard]] std::uint64_t RoundNs(std::uint64_t now_ns) const;
  // "symbolizer: no progress for 31 s"; "": it is not stuck.
  [[nodiscard]] std::string Trouble(std::uint64_t now_ns) const;

 private:
  void Rest() { since_ns_.store(0, std::memory_order_relaxed); }

  const std::string thread_;
  const NeededFor needed_for_;
  const std::chrono::nanoseconds bound_;
  std::atomic<std::uint64_t> since_ns_ = 0;  // when the present round began; 0: it waits
};

}  // namespace profd
