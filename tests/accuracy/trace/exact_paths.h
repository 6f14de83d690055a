// ExactPaths: on whom a thread waits, walked through every switch and wake-up instead of samples.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/accuracy/trace/switch_trace.h"

namespace profd::accuracy {

struct ExactRange {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

// All blocked time of one thread in a range. A path is named as WhomView::Text names it.
struct ExactWaits {
  std::map<std::string, double> ns_by_path;
  double blocked_ns = 0;
  // The part of it between the moment at which the waker begins to wake and the one at which the
  // thread is runnable: either may be the end of a wait. A microsecond per wait is added: times are
  // rounded to it.
  double unsure_ns = 0;
};

class ExactPaths {
 public:
  explicit ExactPaths(const std::vector<SwitchEvent>& events);

  using Names = std::function<std::string(std::uint32_t tid)>;
  [[nodiscard]] ExactWaits Of(std::uint32_t tid, ExactRange range, const Names& names) const;

 private:
  enum class State { kRuns, kRunnable, kBlocked };
  enum class Waker { kThread, kInterrupt, kUnseen, kNone };
  // From here to the next one of its thread.
  struct Change {
    std::uint64_t time_ns = 0;
    State state = State::kRuns;
    // Of blocked ones, how they end.
    Waker waker = Waker::kNone;
    std::uint32_t waker_tid = 0;
    std::uint64_t woken_ns = 0;     // the waker begins
    std::uint64_t runnable_ns = 0;  // it is done
  };
  using Changes = std::vector<Change>;

  void Take(const SwitchEvent& event);
  void Leave(const SwitchEvent& event);
  void Come(const SwitchEvent& event);
  void Wake(const SwitchEvent& event);
  struct Walk {
    const Names& names;
    ExactWaits& waits;
  };
  // How `waker`'s time in a range, in which others waited for it, falls into paths.
  void AddEnds(const Change& wait, ExactRange range, const std::string& prefix, int depth,
               const Walk& walk) const;

  std::map<std::uint32_t, Changes> threads_;
};

}  // namespace profd::accuracy
