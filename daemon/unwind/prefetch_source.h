// PrefetchSource: decorator of the live source that has tables made before a program asks.
#pragma once

#include <chrono>

#include "daemon/source/event_source.h"
#include "daemon/unwind/table_service.h"

namespace profd::unwind {

// Members of a session as it starts (PROCESS), and executable mappings made while it runs (MMAP),
// so also those of an exec. Hands all events on as they are. Used by the reader thread.
class PrefetchSource : public source::EventSource {
 public:
  // Both must outlive this.
  PrefetchSource(source::EventSource& source, TableService& tables)
      : source_(source), tables_(tables) {}

  [[nodiscard]] Result<source::PollStatus> Poll(std::chrono::milliseconds timeout,
                                                const Sink& sink) override;

 private:
  void See(const source::RawEvent& event);

  source::EventSource& source_;
  TableService& tables_;
};

}  // namespace profd::unwind
