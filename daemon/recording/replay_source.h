// ReplaySource: the events of a recording, in place of those of a kernel.
#pragma once

#include <memory>
#include <utility>

#include "daemon/recording/recording_reader.h"
#include "daemon/wire/event_source.h"

namespace profd::recording {

// Never waits: each Poll hands over one block, then says kEnd. A file that was cut short ends where
// it was cut (recording().cut() says so); one that is damaged is an error. Used by the reader
// thread; recording() by anyone before that thread starts.
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
