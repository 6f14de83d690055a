// A process in which the service has found an interpreter.
#pragma once

#include <cstdint>
#include <memory>

#include "daemon/python/feed/fact_queue.h"
#include "tests/support/raw_events.h"

namespace profd::python {

inline PythonFacts FoundProcess(std::uint32_t pid, std::uint32_t version) {
  Attachment attachment;
  attachment.version.number = version;
  attachment.layout = *LayoutOf(version);
  PythonFacts facts;
  facts.process = {pid, test::RawHeader(0, pid).process_start_ns};
  facts.runtimes.resize(1);
  facts.runtimes[0].version = version;
  facts.runtimes[0].attachment = std::make_shared<const Attachment>(attachment);
  return facts;
}

}  // namespace profd::python
