// VectorSource: an EventSource that hands over events that it was given.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "daemon/wire/event_source.h"

namespace profd::test {

// Each Poll hands over up to `batch` events in the order given, then says kEnd. Never waits.
class VectorSource : public wire::EventSource {
 public:
  explicit VectorSource(std::vector<std::vector<std::byte>> events, std::size_t batch = 64)
      : events_(std::move(events)), batch_(batch) {}

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds /*timeout*/,
                                              const Sink& sink) override {
    if (next_ == events_.size()) return wire::PollStatus::kEnd;
    for (std::size_t handed = 0; handed < batch_ && next_ < events_.size(); ++handed)
      sink(wire::RawEvent{events_[next_++]});
    return wire::PollStatus::kEvents;
  }

 private:
  const std::vector<std::vector<std::byte>> events_;
  const std::size_t batch_;
  std::size_t next_ = 0;
};

}  // namespace profd::test
