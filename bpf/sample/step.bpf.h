/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where steps begin and end: the program runs where a function of a process is called that a
 * session watches, in the thread that calls it. The kernel runs it for all threads of the process,
 * and user space may be late to withdraw it, so membership decides who is reported.
 */
#pragma once

#include <linux/bpf_perf_event.h>

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/sample/step_name.bpf.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/share.bpf.h"

static __always_inline void send_step(struct step_buffer* buffer) {
  u64 bytes = sizeof(struct profd_step_event) + buffer->name_bytes;
  int failed;
  if (bytes > sizeof(*buffer)) return;
  buffer->event.size = bytes;
  failed = bpf_ringbuf_output(&ring_sched, buffer, bytes,
                              wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES)) != 0;
  count(failed ? PROFD_COUNTER_STEPS_RING_FULL : PROFD_COUNTER_STEPS);
}

static __always_inline void take_step(struct pt_regs* registers, u64 cookie) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = find_thread(task);
  struct profd_step_place place = profd_step_place_of(cookie);
  u64 session = 1ull << (place.session & (PROFD_MAX_SESSIONS - 1));
  u64 now = bpf_ktime_get_ns();
  struct step_buffer buffer = {};
  if (!thread || !(thread->sessions & control.sessions & session)) return;
  if (!take_share(PROFD_SHARE_STEPS, event_pid(task), now, PROFD_STEPS_PER_SECOND,
                  PROFD_STEPS_AT_ONCE))
    return count(PROFD_COUNTER_STEPS_BEYOND_SHARE);
  if (!may_report(task, thread)) return;
  fill_event(&buffer.event, task, PROFD_EVENT_STEP, now, session);
  buffer.source = place.source;
  if (place.object) buffer.object = registers->rdi;
  if (place.end) buffer.event.flags = PROFD_STEP_END;
  if (place.naming != PROFD_STEP_NO_NAME) read_step_name(&buffer, place.naming, registers->rsi);
  send_step(&buffer);
  if (cost_is_due(now)) add_cost(now);
}
