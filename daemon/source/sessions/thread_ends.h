// ThreadEnds: waits for threads that are about to end.
#pragma once

#include <chrono>

#include "daemon/source/bpf/bpf_objects.h"

namespace profd::source {

// A thread that the kernel lists no more, and that has not ended, has no clock to read; its
// THREAD_END is still to come (bpf/thread/exiting.bpf.h). A session often ends just then: because
// its program ended.
//
// Owned by Sessions, whose mutex covers it. With switch hooks only.
class ThreadEnds {
 public:
  // Such a thread needs a few us of a CPU, but it may get none for long. What takes longer has no
  // clock in the profile, which says so.
  static constexpr std::chrono::milliseconds kLongest{2'000};

  // `objects` must outlive this.
  explicit ThreadEnds(BpfObjects& objects) : objects_(objects) {}

  // After the clocks were read: until threads have ended that were not read and had begun to exit.
  void Await() const;

 private:
  BpfObjects& objects_;
};

}  // namespace profd::source
