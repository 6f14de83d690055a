/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the programs cost, as they time it themselves: their way in and out is not seen. Samples are
 * timed each, all else by samples of it.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* One run in PROFD_COST_SAMPLING is timed. Hashed: clocks may tick in steps of more than 1 ns. */
static __always_inline int cost_is_due(u64 now) {
  return (u32)((u32)now * 0x9E3779B1u) < (u32)(0x100000000ull / PROFD_COST_SAMPLING);
}

static __always_inline void add_cost(u64 begin_ns) {
  count_many(PROFD_COUNTER_COST_NS, (bpf_ktime_get_ns() - begin_ns) * PROFD_COST_SAMPLING);
}

/* `sessions`: that the sample is for. */
static __always_inline void count_stack_cost(u64 begin_ns, u64 sessions) {
  u64 length = bpf_ktime_get_ns() - begin_ns;
  count_many(PROFD_COUNTER_COST_NS, length);
  count_many(PROFD_COUNTER_STACKS_NS, length);
  if (!is_requested(sessions)) count_many(PROFD_COUNTER_BACKGROUND_STACKS_NS, length);
}
