// Orderer: puts the events of all CPUs and rings into order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/base/counter.h"
#include "daemon/wire/event.h"

namespace profd::wire {

struct OrderCounters {
  std::uint64_t ordered = 0;  // handed over in order of time
  std::uint64_t late = 0;     // arrived after a newer one was handed over; handed over at once
  std::uint64_t crowded = 0;  // handed over before the delay was over: too many were held
};

// Each producer's events come in order of time, but the producers are read one after the other: an
// event is held until one has been seen that is `delay_ns` newer, and the oldest goes first; equal
// times keep the order of arrival. A session's end hands over everything that arrived before it:
// the source guarantees that all events of the session stand before it. Events of other sessions
// that are on their way at that moment may come late.
//
// The order depends on the events alone, so a replay has the same one; Advance() is for live
// sources, whose last events would otherwise wait for newer ones. One event from the far future
// makes those after it late, no more. Owned and used by the worker thread; Counters() from any.
class Orderer {
 public:
  struct Options {
    std::uint64_t delay_ns = 300'000'000;  // three of the live source's longest rounds
    std::size_t max_held = 262'144;        // events; at least 1
  };
  using Sink = std::function<void(Event&&)>;

  Orderer(const Options& options, Sink sink);

  void Push(Event&& event);
  // It is `now_ns` and whatever happened before `now_ns - delay_ns` has arrived.
  void Advance(std::uint64_t now_ns);
  // Hands over everything that is held: nothing more will come.
  void Flush();

  [[nodiscard]] OrderCounters Counters() const;
  [[nodiscard]] std::size_t held() const { return heap_.size(); }
  // For so many there is memory by now.
  [[nodiscard]] std::size_t room() const { return slots_.capacity(); }

 private:
  // Heap entries are small; the events themselves stay where they are until they leave.
  struct Entry {
    std::uint64_t time_ns;
    std::uint64_t arrival;
    std::size_t slot;
  };

  // As the order of a std heap: the oldest on top.
  static bool Newer(const Entry& a, const Entry& b);
  void Hold(std::uint64_t time_ns, Event&& event);
  void HandOverOldest();

  const Options options_;
  const Sink sink_;
  std::vector<Entry> heap_;
  std::vector<Event> slots_;
  std::vector<std::size_t> free_slots_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t newest_ns_ = 0;       // of all events seen
  std::uint64_t handed_over_ns_ = 0;  // newest that was handed over
  Counter ordered_;
  Counter late_;
  Counter crowded_;
};

}  // namespace profd::wire
