// ReplaySource: an event source that delivers the events of a recording.
#pragma once

#include <memory>
#include <utility>

#include "daemon/recording/recording_reader.h"
#include "daemon/wire/event_source.h"

namespace profd::recording {

// Poll never waits. It delivers one block per call, and returns kEnd after the last one. A file
// that was cut short ends there (see recording().cut()); a damaged file is an error. Used by the
// thread that replays; recording() may be called by any thread before that one starts.
class ReplaySource : public wire::EventSource {
 public:
  explicit ReplaySource(std::unique_ptr<RecordingReader> reader) : reader_(std::move(reader)) {}

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds /*timeout*/,
                                              const Sink& sink) override {
    const Result<bool> more = reader_->NextEvents(sink);
    if (!more) return more.error();
    return *more ? wire::PollStatus::kEvents : wire::PollStatus::kEnd;
  }

  [[nodiscard]] const RecordingReader& recording() const { return *reader_; }

 private:
  const std::unique_ptr<RecordingReader> reader_;
};

}  // namespace profd::recording
