/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What hardware counters of the CPUs count for members of sessions with PROFD_SESSION_COUNTED. A
 * CPU's counters are read where a member comes, where it is sampled on the CPU, and where it
 * leaves: what they have counted between two readings is the thread's, and that up to a sample is
 * also the sample's.
 */
#pragma once

#include <linux/types.h>

#include "bpf/shared/event_header.h"

enum profd_pmu_counter {
  PROFD_PMU_CYCLES,
  PROFD_PMU_INSTRUCTIONS,
  PROFD_PMU_CACHE_MISSES,
  PROFD_PMU_COUNTERS
};

/* Behind the words of an ON_CPU sample with PROFD_SAMPLE_COUNTED, before its labels, too. */
struct profd_pmu_counts {
  __u64 counted_ns; /* CPU time that the counts cover */
  __u64 counts[PROFD_PMU_COUNTERS];
};

/* mode of a session: hardware counters are requested; those that count for it; a right is missing.
 * Where none counts and no right is missing, the host has none. */
#define PROFD_SESSION_COUNTED 64
#define PROFD_SESSION_COUNTERS_SHIFT 7 /* a bit for each enum profd_pmu_counter */
#define PROFD_SESSION_COUNTERS_MASK 7
#define PROFD_SESSION_COUNTERS_REFUSED 1024

/* flags of PMU */
#define PROFD_PMU_END 1 /* the thread has ended, or left the sessions: these are its last sums */

/*
 * PMU: the sums of one thread, sent behind its CLOCK or THREAD_END. As of an epoch they have what
 * was counted between readings of which the second was before it.
 */
struct profd_pmu_event {
  struct profd_event event;
  __u64 epoch; /* of at_epoch, as in profd_clock_event; END: the last one it has passed; 0: none */
  __u64 epoch_ns;
  struct profd_pmu_counts at_epoch;
  struct profd_pmu_counts final;
};

PROFD_STATIC_ASSERT(sizeof(struct profd_pmu_counts) == 32, "profd_pmu_counts");
PROFD_STATIC_ASSERT(sizeof(struct profd_pmu_event) == 56 + 80, "profd_pmu_event");
