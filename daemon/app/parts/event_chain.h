// EventChain: the chain of event sources from the BPF programs to the pipeline.
#pragma once

#include <optional>

#include "daemon/base/clock.h"
#include "daemon/labels/label_service.h"
#include "daemon/labels/label_source.h"
#include "daemon/python/feed/python_service.h"
#include "daemon/python/feed/python_source.h"
#include "daemon/reader/reader_pool.h"
#include "daemon/recording/recording_source.h"
#include "daemon/recording/recording_writer.h"
#include "daemon/unwind/service/prefetch_source.h"
#include "daemon/unwind/service/table_service.h"
#include "daemon/wire/event_source.h"

namespace profd::app {

// Job: puts the decorators of an event source into their order. First come the facts about Python
// and labels, which must be part of a recording; then the recording, if one is made; last the
// prefetching of unwind tables, which adds no events. Thread: the reader thread polls it. Owner:
// LiveDaemon.
class EventChain {
 public:
  // All must outlive it.
  struct Parts {
    wire::EventSource& source;
    python::PythonService& python;
    python::FactQueue& facts;
    reader::Readers& readers;  // PythonParsers
    python::CodeShares& shares;
    labels::LabelService& labels;
    recording::RecordingWriter* writer;  // null: no recording is made
    unwind::TableService& tables;
    const Clock& clock;
  };

  explicit EventChain(const Parts& parts)
      : python_(parts.source, parts.python, parts.facts, parts.readers, parts.clock, parts.shares),
        labels_(python_, parts.labels) {
    if (parts.writer != nullptr) recording_.emplace(labels_, *parts.writer);
    prefetch_.emplace(recording_ ? static_cast<wire::EventSource&>(*recording_) : labels_,
                      parts.tables);
  }

  // What the pipeline reads.
  [[nodiscard]] wire::EventSource& end() { return *prefetch_; }

 private:
  python::PythonSource python_;
  labels::LabelSource labels_;
  std::optional<recording::RecordingSource> recording_;
  std::optional<unwind::PrefetchSource> prefetch_;
};

}  // namespace profd::app
