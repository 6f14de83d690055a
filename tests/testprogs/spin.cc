#include "tests/testprogs/spin.h"

#include "tests/testprogs/thread_truth.h"

namespace profd::testprog {

Counter::Counter() {
  // The pair of readings closest to each other of several: a preemption in between would spoil it.
  const auto read_pair = [](std::uint64_t& counter, std::int64_t& ns) {
    std::uint64_t best = ~0ull;
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t before = ReadCounter();
      const std::int64_t now = MonotonicNs();
      const std::uint64_t after = ReadCounter();
      if (after - before < best) {
        best = after - before;
        counter = before + (after - before) / 2;
        ns = now;
      }
    }
  };
  read_pair(counter_, monotonic_ns_);
  RawSleep(50'000'000);
  std::uint64_t counter = 0;
  std::int64_t ns = 0;
  read_pair(counter, ns);
  ticks_per_ns_ = static_cast<double>(counter - counter_) / static_cast<double>(ns - monotonic_ns_);
}

}  // namespace profd::testprog
