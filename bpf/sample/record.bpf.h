/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Switches, one event each, of sessions that want every one of them. What the hook knows already is
 * written down: no stack is read. Wake-ups are in waker.bpf.h.
 */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/shared/switches.h"
#include "bpf/thread/share.bpf.h"

static __always_inline void send_record(void* event, u64 bytes) {
  int failed = bpf_ringbuf_output(&ring_sched, event, bytes,
                                  wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES)) != 0;
  count(failed ? PROFD_COUNTER_SWITCHES_RING_FULL : PROFD_COUNTER_SWITCHES_RECORDED);
}

/* The current thread is back after `interval`. */
static __noinline void record_switch(struct task_struct* task, struct thread* thread,
                                     const struct interval* interval) {
  struct profd_switch_event event = {};
  u64 sessions = thread->sessions & control.switch_sessions;
  if (!take_share(PROFD_SHARE_SWITCHES, event_pid(task), interval->end_ns,
                  PROFD_SWITCHES_PER_SECOND, PROFD_SWITCHES_AT_ONCE))
    return count(PROFD_COUNTER_SWITCHES_BEYOND_SHARE);
  if (!may_report(task, thread)) return;
  fill_event(&event.event, task, PROFD_EVENT_SWITCH, interval->end_ns, sessions);
  event.event.size = sizeof(event);
  event.begin_ns = interval->begin_ns;
  event.runnable_ns = interval->runnable_ns;
  event.state = interval->state;
  event.kind = interval->kind;
  send_record(&event, sizeof(event));
}
