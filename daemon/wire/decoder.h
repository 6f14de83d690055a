// Decoder: bytes of one event -> Event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "daemon/base/counter.h"
#include "daemon/base/result.h"
#include "daemon/wire/event.h"
#include "daemon/wire/event_source.h"

namespace profd::wire {

// By enum profd_event_kind, up to the last one.
inline constexpr std::size_t kEventKinds = PROFD_EVENT_STEP_SOURCE + 1;

// What became of all events so far.
struct DecodeCounters {
  std::uint64_t decoded = 0;
  std::uint64_t no_header = 0;     // too short for a header, or of another size than they say
  std::uint64_t unknown_kind = 0;  // a kind this build does not know
  std::array<std::uint64_t, kEventKinds> corrupt{};

  // All that could not be decoded.
  [[nodiscard]] std::uint64_t Rejected() const;
};

// Pure: no state. Every length in the bytes is checked against the bytes that are there; events
// whose parts contradict each other (an interval that ends before it begins) are kCorrupt too, so
// that later code may subtract without checks. Bytes beyond the event's size are ignored, and so
// are bytes between its tail and its end, because the BPF side may pad.
[[nodiscard]] Result<Event> DecodeEvent(const RawEvent& raw);

// Decodes and counts. Owned and used by the reader thread; Counters() from any thread.
class Decoder {
 public:
  [[nodiscard]] Result<Event> Decode(const RawEvent& raw);
  [[nodiscard]] DecodeCounters Counters() const;

 private:
  Counter decoded_;
  Counter no_header_;
  Counter unknown_kind_;
  std::array<Counter, kEventKinds> corrupt_;
};

}  // namespace profd::wire
