// LabelSource: decorator of the live source that adds the names of labels to the stream.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "bpf/shared/events.h"
#include "daemon/base/keys.h"
#include "daemon/base/lru_cache.h"
#include "daemon/labels/label_service.h"
#include "daemon/wire/event_source.h"

namespace profd::labels {

// While clients have sessions, it has the service look at each process that is sampled for them,
// and again when something has changed that may matter. What the service finds goes into the
// stream, with a time before the first sample with labels. Used by the reader thread; its
// references outlive it.
class LabelSource : public wire::EventSource {
 public:
  static constexpr std::size_t kMaxProcesses = 32'768;

  LabelSource(wire::EventSource& source, LabelService& service)
      : source_(source), service_(service) {}

  [[nodiscard]] Result<wire::PollStatus> Poll(std::chrono::milliseconds timeout,
                                              const Sink& sink) override;

 private:
  struct Seen {
    ProcessKey process;
    bool known = false;     // it publishes labels
    std::size_t names = 0;  // so many attributes have one
  };

  void SendFound(const Sink& sink);
  void See(const wire::RawEvent& event);
  void SeeSession(const wire::RawEvent& event, bool begins);
  void SeeSample(const wire::RawEvent& event, const profd_event& header);
  // Whether a record has an attribute whose number is not below `names`.
  [[nodiscard]] static bool HasUnnamed(const wire::RawEvent& event, std::size_t names);

  wire::EventSource& source_;
  LabelService& service_;
  std::uint32_t sessions_ = 0;                         // that clients have requested
  LruCache<std::uint32_t, Seen> seen_{kMaxProcesses};  // by pid
};

}  // namespace profd::labels
