// WhomTruth: on whom a thread waits, by the clocks of the threads that it waits for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/testprogs/thread_truth.h"

namespace profd::testprog {

// When something happened, as far as the program knows: between two readings of CLOCK_MONOTONIC.
struct Instant {
  std::int64_t early_ns = 0;
  std::int64_t late_ns = 0;

  [[nodiscard]] static Instant At(std::int64_t ns) { return {ns, ns}; }
};

// How long the calling thread has been ready and has waited for a CPU, by kernel accounting.
class RunDelay {
 public:
  RunDelay();
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;
  ~RunDelay();
  [[nodiscard]] std::int64_t Ns() const;

 private:
  int fd_;
};

// Calls `waits`, and says when it was over for the kernel: what the thread then waited for a CPU is
// no part of the wait.
template <typename Waits>
[[nodiscard]] std::int64_t EndOf(const RunDelay& delay, const Waits& waits) {
  const std::int64_t before_ns = delay.Ns();
  waits();
  const std::int64_t now_ns = MonotonicNs();
  return now_ns - (delay.Ns() - before_ns);
}

// One thread hands something to another one. The giver may lose its CPU when it has done so: the
// earlier one of their readings after it counts.
struct HandOver {
  std::int64_t before_ns = 0;  // by the giver
  std::int64_t after_ns = 0;   // by the giver
  std::int64_t taken_ns = 0;   // by the taker: the end of its wait

  [[nodiscard]] Instant At() const {
    return {before_ns, std::max(before_ns, std::min(after_ns, taken_ns))};
  }
};

// `give` is how it does so. By the giver.
template <typename Give>
void GiveAway(HandOver& over, const Give& give) {
  over.before_ns = MonotonicNs();
  give();
  over.after_ns = MonotonicNs();
}

// Sleeps of this thread end when they are due: else up to 50 us later.
void SleepExactly();

// A sleep ends between the time at which it was due and its end for the kernel.
struct TimedSleep {
  std::int64_t from_ns = 0;
  std::int64_t due_ns = 0;
  std::int64_t woke_ns = 0;

  // `sleeps`: sleeps until the time that it is given.
  template <typename Sleeps>
  void Take(std::int64_t ns, const RunDelay& delay, const Sleeps& sleeps) {
    from_ns = MonotonicNs();
    due_ns = from_ns + ns;
    woke_ns = EndOf(delay, [&] { sleeps(due_ns); });
  }
  [[nodiscard]] Instant From() const { return Instant::At(from_ns); }
  [[nodiscard]] Instant End() const { return {due_ns, std::max(due_ns, woke_ns)}; }
};

// All waits of one thread in one function, and their parts. Used by one thread, when those that it
// names have ended.
class WhomTruth {
 public:
  WhomTruth(std::string waiter, std::string function)
      : waiter_(std::move(waiter)), function_(std::move(function)) {}

  // A wait; the parts that follow are parts of it. Of it or of a part the waiter may have been
  // awake for `awake_ns`.
  void Wait(Instant from, Instant until, std::int64_t awake_ns = 0);
  // The waiter waits for what `path` says: the threads from the waiter outwards, then "runs" or
  // "timer". Of what lies outside of the wait nothing counts.
  void Part(const std::string& path, Instant from, Instant until, std::int64_t awake_ns = 0);

  [[nodiscard]] nlohmann::json Json() const;

 private:
  // It lasted so long at least, and at most.
  struct Length {
    std::int64_t least_ns = 0;
    std::int64_t most_ns = 0;
    void Add(Instant from, Instant until, std::int64_t awake_ns);
  };
  [[nodiscard]] static nlohmann::json JsonOf(const Length& length);

  std::string waiter_;
  std::string function_;
  Instant from_;
  Instant until_;
  Length blocked_;
  std::int64_t waits_ = 0;
  std::int64_t longest_ns_ = 0;    // of the waits
  std::int64_t hand_over_ns_ = 0;  // of all waits: between the two readings around their ends
  std::map<std::string, Length> paths_;
};

}  // namespace profd::testprog
