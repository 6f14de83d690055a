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
  std::uint64_t ordered = 0;  // delivered in order of time
  std::uint64_t late = 0;     // arrived after a newer one was delivered; delivered at once
  std::uint64_t crowded = 0;  // delivered before the delay was over: too many were held
};

// The events of each producer come in order of time, but the producers are read one after the
// other. So an event is held until one arrives that is `delay_ns` newer. The oldest is delivered
// first; equal times keep the order of arrival. The end of a session delivers everything that
// arrived before it, because the source puts all events of the session before it. Events of other
// sessions that arrive after that moment may be late.
//
// The order depends on the events alone, so a replay has the same one. Advance() is for live
// sources, whose last events would otherwise wait for newer ones. One event from the far future
// only makes those after it late. Owned and used by the worker thread; any thread may call
// Counters().
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
  // Delivers everything that is held, because nothing more will come.
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
  std::uint64_t newest_ns_ = 0;     // of all events seen
  std::uint64_t delivered_ns_ = 0;  // newest that was delivered
  Counter ordered_;
  Counter late_;
  Counter crowded_;
};

}  // namespace profd::wire
