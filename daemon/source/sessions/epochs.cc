#include "daemon/source/sessions/epochs.h"

#include <cerrno>
#include <ctime>

#include "daemon/source/bpf/control_word.h"

namespace profd::source {

Epoch Epochs::Announce() {
  Epoch epoch;
  // This thread can be preempted in between. An epoch that is no longer ahead is exact for no
  // thread.
  for (int i = 0; i < kMaxAnnouncements; ++i) {
    epoch = {control_.epoch + 1, clock_.MonotonicNs() + kAheadNs};
    StoreControl(control_.epoch_ns, epoch.time_ns);
    StoreControl(control_.epoch, epoch.number);  // from here on programs act on it
    if (clock_.MonotonicNs() + kLeastAheadNs <= epoch.time_ns) break;
  }
  return epoch;
}

void SleepPast(const Epoch& epoch) {
  const std::uint64_t wake_ns = epoch.time_ns + 1;
  const timespec wake{static_cast<time_t>(wake_ns / 1'000'000'000),
                      static_cast<long>(wake_ns % 1'000'000'000)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) == EINTR) {
  }
}

}  // namespace profd::source
