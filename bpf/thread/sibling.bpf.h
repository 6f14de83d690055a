/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What runs on the other CPU of a core. A CPU's run queue says so, and is found through the threads
 * that are on it: the kernel's own table of run queues is not in the BTF of every kernel. Without
 * CONFIG_FAIR_GROUP_SCHED nothing is known.
 */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/maps.bpf.h"

/* PROFD_SAMPLE_SIBLING_*, for a sample on this CPU. */
static __noinline u32 sibling_flags(u32 cpu) {
  const struct profd_cpu_place* place = bpf_map_lookup_elem(&cpu_places, &cpu);
  struct rq* run_queue;
  const u64* noted;
  u32 sibling;
  if (!place || place->core == PROFD_NOWHERE || place->sibling == PROFD_NOWHERE) return 0;
  sibling = place->sibling;
  noted = bpf_map_lookup_elem(&run_queues, &sibling);
  if (!noted || !*noted) return 0;
  run_queue = (struct rq*)*noted;
  return BPF_CORE_READ(run_queue, curr, pid) ? PROFD_SAMPLE_SIBLING_BUSY
                                             : PROFD_SAMPLE_SIBLING_IDLE;
}
