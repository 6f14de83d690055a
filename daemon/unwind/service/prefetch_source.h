// PrefetchSource: decorator of the live source that requests tables before a program does.
#pragma once

#include <chrono>

#include "daemon/unwind/service/table_service.h"
#include "daemon/wire/event_source.h"

namespace profd::unwind {

// It requests tables for programs that begin (EXEC) and for executable mappings that are made while
// a session runs (MMAP). Of processes that have been there before (PROCESS) only new files are read
// ahead: a host has many that never run during a session. The members of a requested
// session are prepared by its start. It passes all events on unchanged. Used by the reader thread.
class PrefetchSource : public wire::EventSource {
 public:
  // Both must outlive this.
  PrefetchSource(wire::EventSource& source, TableService& tables)
      : source_(source), tables_(tables) {}

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds timeout,
                                              const Sink& sink) override;

 private:
  void See(const wire::RawEvent& event);

  wire::EventSource& source_;
  TableService& tables_;
};

}  // namespace profd::unwind
