// PendingEvents: events that user space makes, on their way to the thread that polls.
#pragma once

#include <mutex>
#include <vector>

#include "daemon/base/result.h"
#include "daemon/base/unique_fd.h"
#include "daemon/wire/event_bytes.h"

namespace profd::source {

// Any thread puts, and one takes. If that one first takes, then drains the rings, and then delivers
// `after`, every ring event that was written before PutAfter comes before those of `after`.
class PendingEvents {
 public:
  struct Taken {
    std::vector<wire::EventBytes> before;  // to be delivered before the rings are drained ...
    std::vector<wire::EventBytes> after;   // ... and after
  };

  [[nodiscard]] static Result<UniqueFd> MakeWakeFd();
  explicit PendingEvents(UniqueFd wake) : wake_(std::move(wake)) {}

  void PutBefore(std::vector<wire::EventBytes> events);
  void PutAfter(std::vector<wire::EventBytes> events);
  [[nodiscard]] Taken Take();

  // Readable while there is something to take, or Wake() was called since.
  [[nodiscard]] int wake_fd() const { return wake_.get(); }
  void Wake();

 private:
  const UniqueFd wake_;
  std::mutex mutex_;
  Taken events_;
};

}  // namespace profd::source
