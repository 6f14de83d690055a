// RecordingSource: an event source that passes events on and records each of them unchanged.
#pragma once

#include "daemon/recording/recording_writer.h"
#include "daemon/wire/event_source.h"

namespace profd::recording {

// Wraps the live source. The source and the writer must outlive it. Used by the reader thread.
class RecordingSource : public wire::EventSource {
 public:
  RecordingSource(wire::EventSource& inner, RecordingWriter& writer)
      : inner_(inner), writer_(writer) {}

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds timeout,
                                              const Sink& sink) override {
    return inner_.Poll(timeout, [this, &sink](const wire::RawEvent& event) {
      writer_.Write(event);
      sink(event);
    });
  }

 private:
  wire::EventSource& inner_;
  RecordingWriter& writer_;
};

}  // namespace profd::recording
