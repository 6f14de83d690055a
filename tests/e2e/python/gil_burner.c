/* SPDX-License-Identifier: Apache-2.0 */
/* C that uses its CPU, or sleeps, for a while: called with the GIL or without it, by its name. */
#define _GNU_SOURCE
#include <stdint.h>
#include <time.h>

static uint64_t thread_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;

#define BURN(name)                                   \
  __attribute__((noinline)) void name(uint64_t ns) { \
    const uint64_t end = thread_cpu_ns() + ns;       \
    while (thread_cpu_ns() < end)                    \
      for (int i = 0; i < 20000; ++i) sink += i;     \
  }

#define NAP(name)                                                                \
  __attribute__((noinline)) void name(uint64_t ns) {                             \
    const struct timespec time = {(time_t)(ns / 1000000000u), ns % 1000000000u}; \
    nanosleep(&time, 0);                                                         \
    ++sink; /* no tail call */                                                   \
  }

BURN(burn_without_gil)
BURN(burn_with_gil)
NAP(nap_without_gil)
NAP(nap_with_gil)
