/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a thread's clock shows in the middle of an interval. Like clock.bpf.h, this looks at nothing
 * but its arguments.
 */
#pragma once

#include "bpf/thread/clock.bpf.h"

/* What else a reader must know of a thread that it finds off CPU. */
struct present_state {
  u64 queued_ns; /* it has waited for a CPU since then; 0: it has not */
  int running;   /* the kernel says that it is on a CPU */
};

/*
 * Brings a copy of a thread's storage up to `now`, as if the present interval ended, so that
 * `copy->kept` holds the present epoch, if that has passed. The storage itself stays as it is.
 */
static __always_inline void clock_advance(struct thread* copy, u64 now,
                                          const struct kernel_accounting* accounting,
                                          struct present_state* present) {
  u64 waits = present->queued_ns ? above(now, present->queued_ns) : 0;
  struct interval interval;
  if (copy->state == PROFD_STATE_DEAD) return;
  if (copy->state != PROFD_STATE_ON_CPU) {
    if (copy->switch_in_ns) {
      come_back(copy, copy->switch_in_ns, accounting, copy->cpu, &interval);
    } else if (present->running) {
      reconcile_missed_switch_in(copy, now, accounting, copy->cpu);
    } else {
      close_off_cpu(copy, now, accounting->run_delay + waits);
      return;
    }
  }
  close_on_cpu(copy, now, stolen_part(copy, accounting));
}

/*
 * How far CLOCK_MONOTONIC is ahead of the run-queue clock, learned from a thread that has waited
 * for the CPU and was seen to come at `now`: the least distance, as the hook may lag behind.
 * CLOCK_MONOTONIC is slewed: the distance may grow by 1/4096 of the time that has passed.
 */
static __always_inline void learn_offset(struct queue_offset* offset, u64 now, u64 last_arrival) {
  u64 seen = now - last_arrival;
  u64 least = offset->ns + ((now - offset->at_ns) >> 12);
  if (!offset->at_ns || seen - least > MAX_LAG_NS) least = seen; /* less than the least, too */
  offset->ns = least;
  offset->at_ns = now;
}

/*
 * When the wait for a CPU began that the kernel dates `last_queued`, for a reading at `now`; 0: the
 * thread does not wait. A reading at an epoch must report neither more blocked time nor more
 * runnable time than the later switch-in will. So half of the time since the epoch is left for
 * errors on either side, but not more than they can be.
 */
#define MAX_QUEUED_ERROR_NS 20000

static __always_inline u64 queued_since(const struct queue_offset* offset, u64 now,
                                        u64 last_queued) {
  u64 error = smaller(above(now, control.epoch_ns) / 2, MAX_QUEUED_ERROR_NS);
  return last_queued && offset->at_ns ? last_queued + offset->ns - error : 0;
}
