/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread clock shows: exact ns and counts by state. */
#pragma once

#include <linux/types.h>

/* The ns and counts of one thread; monotone. Elapsed = sum of all *_ns. */
enum profd_runnable {
  PROFD_AFTER_WAKEUP,
  PROFD_AFTER_PREEMPTION,
  PROFD_AFTER_YIELD,
  PROFD_RUNNABLE_MAX
};
enum profd_blocked { PROFD_INTERRUPTIBLE, PROFD_UNINTERRUPTIBLE, PROFD_IOWAIT, PROFD_BLOCKED_MAX };

struct profd_clock {
  __u64 on_cpu_ns;
  __u64 runnable_ns[PROFD_RUNNABLE_MAX];
  __u64 blocked_ns[PROFD_BLOCKED_MAX];
  __u64 on_cpu_count;                       /* intervals begun */
  __u64 runnable_count[PROFD_RUNNABLE_MAX]; /* AFTER_PREEMPTION + AFTER_YIELD = involuntary switches
                                             */
  __u64 blocked_count[PROFD_BLOCKED_MAX];   /* their sum = voluntary switches */
  __u64 migrations;                         /* switch-ins on another CPU than the last one */
};

enum profd_thread_state {
  PROFD_STATE_ON_CPU,
  PROFD_STATE_RUNNABLE,
  PROFD_STATE_BLOCKED,
  PROFD_STATE_DEAD
};
