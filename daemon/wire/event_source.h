// EventSource: the seam below everything. Live BPF, a recording and a vector are three sources of
// the same bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>

#include "daemon/base/result.h"

namespace profd::wire {

// One event as bpf/shared/events.h lays it out: header, fixed part, tail. First hand-off of the
// pipeline.
struct RawEvent {
  std::span<const std::byte> bytes;  // valid only during the call that hands it over
};

enum class PollStatus {
  kEvents,   // at least one event was delivered
  kTimeout,  // none came in time; not an error
  kEnd,      // there will never be another (end of a recording)
};

// Used by one thread at a time. Events come in the order of each producer, not in order of time.
class EventSource {
 public:
  using Sink = std::function<void(const RawEvent&)>;

  virtual ~EventSource() = default;
  // Delivers the waiting events; waits up to `timeout` if there are none. An error is final.
  [[nodiscard]] virtual Result<PollStatus> Poll(std::chrono::milliseconds timeout,
                                                const Sink& sink) = 0;
};

}  // namespace profd::wire
