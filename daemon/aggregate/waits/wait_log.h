// WaitLog: what the threads of a session, and those that end their waits, did at sampling points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/base/keys.h"
#include "daemon/process/sample.h"

namespace profd::aggregate {

// A stack: a node of the session's StackTree.
using StackId = std::uint32_t;

// Who has ended a wait, and how: a stack of its thread, or of the interrupt.
struct Waker {
  enum class Kind : std::uint8_t {
    kThread,
    kInterrupt,  // of no thread
    kForeign,    // a thread that the session's user may not see
  };
  Kind kind = Kind::kThread;
  std::uint32_t thread = 0;  // kThread: its index in the log
  StackId node = 0;
};

inline constexpr std::uint32_t kNoWaker = ~std::uint32_t{0};

// One sampled interval off the CPU: blocked from begin_ns to woken_ns, then runnable to end_ns.
struct LoggedWait {
  std::uint64_t begin_ns = 0;
  std::uint64_t woken_ns = 0;
  std::uint64_t end_ns = 0;        // ~0: it had not ended when the session did
  std::uint32_t waker = kNoWaker;  // index in the log
  std::uint32_t owner_word = 0;    // of one that has not ended: LockOwner
  StackId node = 0;
  process::WaitReason reason = process::WaitReason::kNone;
  process::Gil gil = process::Gil::kNone;

  [[nodiscard]] bool is_open() const { return end_ns == ~std::uint64_t{0}; }
};

// An on-CPU sample.
struct LoggedRun {
  std::uint64_t time_ns = 0;
  StackId node = 0;
  bool holds_gil = false;
};

// What a thread does at an instant, as far as the log says.
enum class StateAt : std::uint8_t {
  kRuns,
  kRunnable,
  kBlocked,
  kNotFollowed,  // it was no member of the session, and not followed
  kLost,         // a sample of it may have been lost
};

// Belongs to a ProfileBuilder, and is used by its thread. Samples come in order of time. That no
// interval holds a sampling point means that the thread was on a CPU there, if nothing was lost:
// each thread's off-CPU samples are numbered. Memory is bounded by `max_entries`; what exceeds it
// counts as lost from then on.
class WaitLog {
 public:
  struct Range {
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
  };
  struct Thread {
    ThreadKey key;
    ProcessKey process;
    std::uint32_t own_tid =
        0;             // as the thread's pid namespace has it; 0: as in `key`, or not known
    std::string comm;  // of wakers; "": not known
    bool python = false;
    std::vector<LoggedWait> waits;  // in order of time; they do not overlap
    std::vector<LoggedRun> runs;    // in order of time
    std::vector<Range> watched;     // a member of the session, or followed
    std::vector<Range> lost;
    std::uint32_t number = 0;        // of its last sample; 0: it has had none
    std::uint64_t number_ns = 0;     // the end of that sample
    std::uint32_t clock_number = 0;  // the same, by the last reading of its clock
  };

  explicit WaitLog(std::size_t max_entries) : max_entries_(max_entries) {}

  // A reading of a member's clock, the fork of one, or its end.
  struct Reading {
    std::uint64_t time_ns = 0;
    std::uint32_t number = 0;  // of its last sample, when the clock was read: somewhat later
    bool end = false;
    std::uint64_t blocked_since_ns = 0;  // 0: it is not blocked
    std::uint32_t own_tid = 0;           // as wire::ClockEvent
  };
  void OnClock(const ThreadKey& thread, const ProcessKey& process, const Reading& reading);
  // From `time_ns` on, intervals off the CPU are sampled at the points of this level.
  void SetLevel(std::uint64_t time_ns, std::uint64_t point_seed, std::uint32_t level);
  // A sample of a member, or of a thread that is followed, with its stack.
  void AddWait(const process::Sample& sample, StackId node);
  void AddRun(const process::Sample& sample, StackId node);
  // A wait that had not ended when the session before this one did, with its stack here: it is not
  // reported again while it lasts. Who holds its mutex was read then, and is not taken over.
  void TakeOpen(const WaitLog& before, const ThreadKey& thread, std::uint64_t begin_ns,
                StackId node);
  // `session`: bit of the session. With sample.wake_up.
  void AddWaker(const process::Sample& sample, StackId node, std::uint64_t session);

  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }
  [[nodiscard]] const Waker& WakerAt(std::uint32_t waker) const { return wakers_[waker]; }
  [[nodiscard]] std::optional<std::uint32_t> Find(const ThreadKey& thread) const;
  // The wait of a thread that begins then, or null.
  [[nodiscard]] const LoggedWait* FindWait(std::uint32_t thread, std::uint64_t begin_ns) const;
  // What a thread does at a sampling point; off the CPU, in which wait.
  struct At {
    StateAt state = StateAt::kRuns;
    const LoggedWait* wait = nullptr;
  };
  // `until_ns`: when a wait ended that has this point. An interval of the thread is sampled at the
  // level of the instant at which it ends, and those of interest end before that.
  [[nodiscard]] At StateOf(std::uint32_t thread, std::uint64_t time_ns,
                           std::uint64_t until_ns) const;
  // The coarsest level in effect between two instants; 0: not known. Its points are those that all
  // intervals are sampled at which end between them.
  [[nodiscard]] std::uint32_t CoarsestLevel(std::uint64_t begin_ns, std::uint64_t end_ns) const;
  // Indices of a process's threads that have Python thread states.
  [[nodiscard]] std::vector<std::uint32_t> PythonThreads(const ProcessKey& process) const;
  // An estimate of the memory that it holds.
  [[nodiscard]] std::size_t bytes() const {
    constexpr std::size_t kThreadBytes = sizeof(Thread) + 128;
    return threads_.size() * kThreadBytes + entries_ * sizeof(LoggedWait);
  }

 private:
  // A wake-up whose wait has not come yet.
  struct Pending {
    std::uint64_t begin_ns = 0;  // 0: the wakee was on its way to sleep
    std::uint64_t time_ns = 0;
    std::uint32_t waker = kNoWaker;
  };

  [[nodiscard]] std::uint32_t IndexOf(const ThreadKey& thread, const ProcessKey& process);
  // Takes note of the number of a sample that begins then; what is between is lost.
  static void Follow(Thread& thread, std::uint32_t number, std::uint64_t begin_ns,
                     std::uint64_t end_ns);
  [[nodiscard]] std::uint32_t TakeWaker(std::uint32_t thread, std::uint64_t begin_ns);
  // False: the log is full.
  [[nodiscard]] bool MakeRoom(Thread& thread, std::uint64_t time_ns);

  struct Level {
    std::uint64_t since_ns = 0;
    std::uint32_t level = 0;
  };

  const std::size_t max_entries_;
  std::size_t entries_ = 0;
  std::vector<Level> levels_;  // in order of time; empty: not known
  std::uint64_t point_seed_ = 0;
  std::vector<Thread> threads_;
  std::unordered_map<ThreadKey, std::uint32_t> index_;
  std::vector<Waker> wakers_;
  std::vector<std::vector<Pending>> pending_;  // by thread
};

}  // namespace profd::aggregate
