/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Events of sessions that record every context switch and every wake-up of their members. */
#pragma once

#include <linux/types.h>

#include "bpf/shared/event_header.h"

/* The thread of the header was off the CPU, and is back on that of the header at time_ns. */
struct profd_switch_event {
  struct profd_event event;
  __u64 begin_ns;    /* it left its CPU; the clock's interval, so all of them add up to it */
  __u64 runnable_ns; /* at the end of the interval: it waited for a CPU */
  __u32 state;       /* PROFD_STATE_BLOCKED or PROFD_STATE_RUNNABLE, in which it left */
  __u32 kind;        /* enum profd_blocked or enum profd_runnable, by state */
};

/* flags of WAKE */
#define PROFD_WAKE_INTERRUPT 1 /* an interrupt; the header names no thread */
#define PROFD_WAKE_HIDDEN 2    /* the same: some session of the event may not see the thread */

/* The thread of the header ends a wait of another one. */
struct profd_wake_event {
  struct profd_event event;
  __u64 begin_ns; /* begin of that wait; 0: the other thread was on its way to sleep */
  __u64 wakee_start_ns;
  __u32 wakee_tid;
  __u32 reserved;
};

PROFD_STATIC_ASSERT(sizeof(struct profd_switch_event) == 56 + 24, "profd_switch_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_wake_event) == 56 + 24, "profd_wake_event");
