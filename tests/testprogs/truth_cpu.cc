#include <sched.h>

#include <vector>

#include "tests/testprogs/named_function.h"
#include "tests/testprogs/truth.h"

namespace truth {

using profd::testprog::SpinUntil;

PROFD_NAMED void SpinMost(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void SpinRest(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void LockstepFirst(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void LockstepRest(std::uint64_t until) { SpinUntil(until); }
PROFD_NAMED void SpinInCrowd(std::uint64_t until) { SpinUntil(until); }

void Spin(Case& run) {
  run.report.Start("spinner", [&run](ThreadTruth& truth) {
    const std::int64_t end_ns = MonotonicNs() + run.options.ns;
    // 1.7 ms in all: no simple ratio to any sampling period.
    while (MonotonicNs() < end_ns) {
      truth.Phase("truth::SpinMost", [&] { SpinMost(run.counter.After(1'190'000)); });
      truth.Phase("truth::SpinRest", [&] { SpinRest(run.counter.After(510'000)); });
    }
  });
}

void Lockstep(Case& run) {
  run.report.Start("lockstep", [&run](ThreadTruth& truth) {
    const std::int64_t begin_ns = MonotonicNs();
    const double beat_ns = 1e9 / 99;
    for (int beat = 0; MonotonicNs() < begin_ns + run.options.ns; ++beat) {
      const auto at = [&](double share) {
        return run.counter.At(begin_ns + static_cast<std::int64_t>((beat + share) * beat_ns));
      };
      truth.Phase("truth::LockstepFirst", [&] { LockstepFirst(at(0.3)); });
      truth.Phase("truth::LockstepRest", [&] { LockstepRest(at(1.0)); });
    }
  });
}

namespace {

// The first two CPUs this process may use.
void UseTwoCpus() {
  cpu_set_t allowed;
  cpu_set_t two;
  CPU_ZERO(&two);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &two);
  }
  sched_setaffinity(0, sizeof(two), &two);
}

}  // namespace

void Crowd(Case& run) {
  UseTwoCpus();
  const std::int64_t end_ns = MonotonicNs() + run.options.ns;
  for (std::uint32_t i = 0; i < run.options.threads; ++i) {
    run.report.Start("crowd-" + std::to_string(i), [&run, end_ns](ThreadTruth& truth) {
      truth.Phase("truth::SpinInCrowd", [&] { SpinInCrowd(run.counter.At(end_ns)); });
    });
  }
  run.report.Join();
}

}  // namespace truth
