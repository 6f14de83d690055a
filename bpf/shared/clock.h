/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread clock shows: exact ns and counts by state. */
#pragma once

#include <linux/types.h>

/* Kinds of runnable and of blocked time. */
enum profd_runnable {
  PROFD_AFTER_WAKEUP,
  PROFD_AFTER_PREEMPTION,
  PROFD_AFTER_YIELD,
  PROFD_RUNNABLE_MAX
};
enum profd_blocked { PROFD_INTERRUPTIBLE, PROFD_UNINTERRUPTIBLE, PROFD_IOWAIT, PROFD_BLOCKED_MAX };
/* Time on a CPU that the kernel leaves out of run time: interrupts and the hypervisor. */
enum profd_stolen {
  PROFD_STOLEN_EXACT,
  PROFD_STOLEN_SPREAD, /* estimated by what all CPUs have lost: snapshot mode, of sleepers */
  PROFD_STOLEN_MAX
};

/*
 * The ns and counts of one thread. Elapsed = sum of all *_ns. Monotone, but for on_cpu_ns and
 * stolen_ns, of which only the sum is: a reading in the middle of an interval may not know yet how
 * much of it was stolen.
 */
struct profd_clock {
  __u64 on_cpu_ns; /* that the kernel counts as run time */
  __u64 runnable_ns[PROFD_RUNNABLE_MAX];
  __u64 blocked_ns[PROFD_BLOCKED_MAX];
  __u64 on_cpu_count;                       /* intervals begun */
  __u64 runnable_count[PROFD_RUNNABLE_MAX]; /* AFTER_PREEMPTION + AFTER_YIELD = involuntary switches
                                             */
  __u64 blocked_count[PROFD_BLOCKED_MAX];   /* their sum = voluntary switches */
  __u64 migrations;                         /* switch-ins on another CPU than the last one */
  __u64 stolen_ns[PROFD_STOLEN_MAX];
};

/*
 * Of `migrations`, those to another core, to another last-level cache and to another NUMA node,
 * each counted by itself. Only differences mean anything, modulo 2^32.
 */
struct profd_moves {
  __u32 core;
  __u32 cache;
  __u32 node;
};

/* Where a CPU is: the lowest CPU of its core, the lowest with the same last-level cache, and its
 * NUMA node. `sibling` is the next CPU of its core. */
struct profd_cpu_place {
  __u32 core; /* PROFD_NOWHERE: none of it is known */
  __u32 cache;
  __u32 node;
  __u32 sibling; /* PROFD_NOWHERE: it is the only one */
};

#define PROFD_NOWHERE 0xffffffffu

enum profd_thread_state {
  PROFD_STATE_ON_CPU,
  PROFD_STATE_RUNNABLE,
  PROFD_STATE_BLOCKED,
  PROFD_STATE_DEAD
};
