// PathFinder: on whom a thread waits at a sampling point.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/aggregate/waits/path.h"
#include "daemon/aggregate/waits/wait_log.h"
#include "daemon/aggregate/waits/wake_up_kind.h"
#include "daemon/symbolize/names/symbolizer.h"

namespace profd::aggregate {

// One step of a path; see PathNode.
struct PathStep {
  PathKind kind = PathKind::kNone;
  PathHow how = PathHow::kWoke;
  process::WaitReason wait = process::WaitReason::kNone;
  bool estimated = false;
  std::uint32_t thread = kNoWaker;  // index in the log
  StackId node = 0;
};

// The rule, for a point m in a wait: the thread that ended the wait is W. If W ran at m, or was
// ready to, the path ends there; if it was blocked, the path goes on with W's wait that contains m.
// A timer, a device or a thread that is not known ends it. Wake-ups along a path are earlier and
// earlier, so it cannot run in a circle - but for the GIL: a wait for it leads to the thread that
// holds it at m, and not to who ends the wait, and the holder may wait for any other thread.
//
// It is right because all threads are sampled at the same points: that W has no sample at m means
// that it ran. What W ran is an estimate: the nearest of W's on-CPU samples in that wait; without
// one, the nearest in other waits of the same thread that W ended (marked as estimated); else what
// W did when it ended the wait.
//
// Used once the session has ended, by the thread that builds the profile. All that it refers to
// outlives it.
class PathFinder {
 public:
  // Calls `visit` for the frames of a stack, leaf first, as long as that returns true.
  using Frames =
      std::function<void(StackId stack, const std::function<bool(const symbolize::Frame&)>& visit)>;
  // Longer paths end in kTooLong: longer than queues for a lock mostly are.
  static constexpr std::size_t kMaxSteps = 32;
  // A thread that blocks again so soon, at the same place, was woken for nothing: the two waits are
  // one, which the second wake-up ends. That is time for a look at what it waits for, and hardly
  // for more: a server answers in 10 us.
  static constexpr std::uint64_t kAgainAtOnceNs = 5'000;

  PathFinder(const WaitLog& log, Frames frames) : log_(log), frames_(std::move(frames)) {}

  // The path of a point in a wait of this thread. Never empty.
  [[nodiscard]] const std::vector<PathStep>& Find(std::uint32_t thread, const LoggedWait& wait,
                                                  std::uint64_t time_ns);
  // Whether the thread was woken for nothing when the wait ended.
  [[nodiscard]] bool IsSpurious(std::uint32_t thread, const LoggedWait& wait);
  // Whether it is known who holds the mutex of a wait that has not ended.
  [[nodiscard]] bool HasOwner(std::uint32_t thread, const LoggedWait& wait) {
    return OwnerOf(thread, wait) != kNoWaker;
  }
  // Whether a thread that is known has done it, and not an interrupt.
  [[nodiscard]] bool IsByThread(const Waker& waker);
  // The thread that ended the wait, spurious wake-ups left out; kNoWaker: no thread that is known.
  [[nodiscard]] std::uint32_t EndedBy(std::uint32_t thread, const LoggedWait& wait);

 private:
  // Who ends a wait, spurious wake-ups left out; null: not known.
  [[nodiscard]] const Waker* Settled(std::uint32_t thread, const LoggedWait& wait);
  [[nodiscard]] const LoggedWait* Next(std::uint32_t thread, const LoggedWait& wait) const;
  // The wait with which the thread goes on at once, at the same place; null: it does not.
  [[nodiscard]] const LoggedWait* Continuation(std::uint32_t thread, const LoggedWait& wait) const;
  [[nodiscard]] WakeUpKind KindOf(const Waker& waker);
  // The thread that holds the GIL for which a thread waits; kNoWaker: not known.
  [[nodiscard]] std::uint32_t HolderOf(std::uint32_t waiter, const LoggedWait& wait,
                                       std::uint64_t time_ns);
  [[nodiscard]] const std::vector<std::uint32_t>& PythonThreads(const ProcessKey& process);
  // The thread that holds the mutex for which one still waits; kNoWaker: not known.
  [[nodiscard]] std::uint32_t OwnerOf(std::uint32_t waiter, const LoggedWait& wait);
  // Sets the stack of a step that ends with what its thread ran.
  void FindRun(std::uint32_t waiter, const LoggedWait& wait, std::uint64_t time_ns, PathStep& step);
  // The on-CPU samples of `waker` in waits of `waiter` that it has ended.
  [[nodiscard]] const std::vector<LoggedRun>& RunsFor(std::uint32_t waiter, std::uint32_t waker);

  const WaitLog& log_;
  const Frames frames_;
  std::vector<PathStep> path_;
  std::unordered_map<std::uint64_t, WakeUpKind> kinds_;  // by node, and whether of an interrupt
  std::unordered_map<ProcessKey, std::vector<std::uint32_t>> python_;
  std::map<std::pair<ProcessKey, std::uint32_t>, std::uint32_t> by_tid_;  // made when needed
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LoggedRun>> runs_;
};

}  // namespace profd::aggregate
