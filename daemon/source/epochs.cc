#include "daemon/source/epochs.h"

#include <atomic>
#include <cerrno>
#include <ctime>

namespace profd::source {

void StoreControl(__u64& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

Epoch Epochs::Announce() {
  Epoch epoch;
  // This thread can be put aside in between: a date that is no longer ahead is exact for nobody.
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
