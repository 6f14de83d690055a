// RecordingSource: passes events on and writes each of them into a recording, as it came.
#pragma once

#include "daemon/recording/recording_writer.h"
#include "daemon/source/event_source.h"

namespace profd::recording {

// A decorator over the live source. Both must outlive it. Used by the reader thread.
class RecordingSource : public source::EventSource {
 public:
  RecordingSource(source::EventSource& inner, RecordingWriter& writer)
      : inner_(inner), writer_(writer) {}

  [[nodiscard]] Result<source::PollStatus> Poll(std::chrono::milliseconds timeout,
                                                const Sink& sink) override {
    return inner_.Poll(timeout, [this, &sink](const source::RawEvent& event) {
      writer_.Write(event);
      sink(event);
    });
  }

 private:
  source::EventSource& inner_;
  RecordingWriter& writer_;
};

}  // namespace profd::recording
