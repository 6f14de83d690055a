// PythonSource: decorator of the live source that adds interpreters and code objects to the stream.
#pragma once

#include <chrono>

#include "daemon/python/feed/code_backfill.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/wire/event_source.h"

namespace profd::python {

// Passes every event to the service, and adds the events of the interpreters and the code objects
// that the samples need, with a time before theirs. Used by the reader thread; its references
// outlive it.
class PythonSource : public wire::EventSource {
 public:
  PythonSource(wire::EventSource& source, PythonService& service, FactQueue& facts,
               reader::Readers& readers, const Clock& clock, CodeShares& shares)
      : source_(source), service_(service), codes_(facts, readers, clock, shares) {}

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds timeout,
                                              const Sink& sink) override;

 private:
  wire::EventSource& source_;
  PythonService& service_;
  CodeBackfill codes_;
};

}  // namespace profd::python
