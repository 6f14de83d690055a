// Busy loops of known length whose every instruction lies in the function that is to be seen.
//
// clock_gettime would run in the vdso behind a libc function without frame pointer, and hide its
// caller; the CPU's own counter is read in line. It must be constant and the same on all CPUs, as
// it is on every x86-64 machine with `constant_tsc nonstop_tsc` and on every arm64 one.
#pragma once

#include <cstdint>

#include "tests/testprogs/raw_syscall.h"

namespace profd::testprog {

PROFD_INLINE std::uint64_t ReadCounter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#endif
}

// Ties the counter to CLOCK_MONOTONIC; made once, before any thread (takes 50 ms).
class Counter {
 public:
  Counter();
  // Of the counter when CLOCK_MONOTONIC reads `monotonic_ns`.
  [[nodiscard]] PROFD_INLINE std::uint64_t At(std::int64_t monotonic_ns) const {
    return counter_ + static_cast<std::uint64_t>(static_cast<double>(monotonic_ns - monotonic_ns_) *
                                                 ticks_per_ns_);
  }
  [[nodiscard]] PROFD_INLINE std::uint64_t After(std::int64_t ns) const {
    return ReadCounter() + static_cast<std::uint64_t>(static_cast<double>(ns) * ticks_per_ns_);
  }

 private:
  std::uint64_t counter_ = 0;
  std::int64_t monotonic_ns_ = 0;
  double ticks_per_ns_ = 1;
};

PROFD_INLINE void SpinUntil(std::uint64_t counter) {
  while (ReadCounter() < counter) {
  }
}

}  // namespace profd::testprog
