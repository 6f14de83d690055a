/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The clock of a thread by the kernel's own sums, for sessions in snapshot mode: no hook sees a
 * switch. Run time is on_cpu, run_delay is runnable. The rest of the time that has passed is stolen
 * from a thread that has not slept, exactly. Of one that has slept nothing distinguishes the two,
 * so its stolen time is an estimate, by its run time and what all CPUs lose (control.stolen_ratio),
 * and it was blocked for what is left. Like clock.bpf.h, this looks at nothing but its arguments
 * and words of control, so tests compile it as user code.
 *
 * The sums are read some time after the instant for which they count, and up to a tick of a thread
 * that runs may be missing. So the totals grow from reading to reading: each takes what the sums
 * have beyond the totals before, in the order on_cpu, runnable, stolen, blocked, and no more than
 * the time that has passed. What does not fit counts at the next reading. So the parts always add
 * up, and no number ever goes down.
 */
#pragma once

#include "bpf/thread/clock.bpf.h"

/* The kernel's sums for a thread, since it began. */
struct kernel_sums {
  u64 on_cpu_ns;
  u64 runnable_ns;
  u64 sleeps;   /* nvcsw */
  u64 switches; /* nivcsw: all others */
  u64 migrations;
  u32 state; /* enum profd_thread_state */
  u32 padding;
};

static __always_inline u64 total_of(const struct kernel_totals* totals) {
  return totals->on_cpu_ns + totals->runnable_ns + totals->blocked_ns +
         totals->stolen_ns[PROFD_STOLEN_EXACT] + totals->stolen_ns[PROFD_STOLEN_SPREAD];
}

/* Whether the thread may have been blocked since the last reading. */
static __always_inline int may_have_slept(const struct kernel_totals* totals,
                                          const struct kernel_sums* sums) {
  return totals->state == PROFD_STATE_BLOCKED || sums->state == PROFD_STATE_BLOCKED ||
         totals->sleeps != (u32)sums->sleeps;
}

/* What was stolen, by estimate, while a thread ran for `on_cpu` ns. Without overflow for 52 days.
 */
static __always_inline u64 spread_of(u64 on_cpu) {
  return ((on_cpu >> 10) * control.stolen_ratio) >> (PROFD_STOLEN_SHIFT - 10);
}

/*
 * Adds the time up to `until_ns`. A global function: the verifier checks it once, wherever it is
 * called.
 */
__noinline int advance_totals(struct kernel_totals* totals, u64 begin_ns, u64 until_ns,
                              const struct kernel_sums* sums) {
  u64 left, on_cpu, part;
  if (!totals || !sums) return 0;
  left = above(until_ns, begin_ns + total_of(totals));
  on_cpu = smaller(left, above(sums->on_cpu_ns, totals->on_cpu_ns));
  totals->on_cpu_ns += on_cpu;
  left -= on_cpu;
  part = smaller(left, above(sums->runnable_ns, totals->runnable_ns));
  totals->runnable_ns += part;
  left -= part;
  if (!may_have_slept(totals, sums)) {
    totals->stolen_ns[PROFD_STOLEN_EXACT] += left;
    return 0;
  }
  part = smaller(left, spread_of(on_cpu));
  totals->stolen_ns[PROFD_STOLEN_SPREAD] += part;
  totals->blocked_ns += left - part;
  return 0;
}

/* After the last time up to which one reading adds. */
static __always_inline void end_reading(struct kernel_totals* totals,
                                        const struct kernel_sums* sums) {
  totals->sleeps = sums->sleeps;
  totals->state = sums->state;
}

static __always_inline void fill_clock(struct profd_clock* clock,
                                       const struct kernel_totals* totals,
                                       const struct kernel_sums* sums) {
  __builtin_memset(clock, 0, sizeof(*clock));
  clock->on_cpu_ns = totals->on_cpu_ns;
  clock->runnable_ns[PROFD_AFTER_WAKEUP] = totals->runnable_ns;
  clock->blocked_ns[PROFD_INTERRUPTIBLE] = totals->blocked_ns;
  clock->on_cpu_count = sums->sleeps + sums->switches;
  clock->runnable_count[PROFD_AFTER_PREEMPTION] = sums->switches;
  clock->blocked_count[PROFD_INTERRUPTIBLE] = sums->sleeps;
  clock->migrations = sums->migrations;
  clock->stolen_ns[PROFD_STOLEN_EXACT] = totals->stolen_ns[PROFD_STOLEN_EXACT];
  clock->stolen_ns[PROFD_STOLEN_SPREAD] = totals->stolen_ns[PROFD_STOLEN_SPREAD];
}
