/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Off-CPU samples. A sample is decided on when the thread comes back and the length of its absence
 * is known; the thread then takes its own stack, which still shows why it waited. On the switch-out
 * rung there is no hook at that moment: every departure of a session's member is captured into the
 * thread's own buffer, and sent at its return if it is due.
 */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/marks.bpf.h"

/* An off-CPU interval that has ended. */
struct interval {
  u64 begin_ns;
  u64 end_ns;
  u64 runnable_ns; /* at its end */
  u64 sessions;    /* that want samples of it */
  u32 state;       /* in which it began, with its kind */
  u32 kind;
  u32 blocked_marks;
  u32 runnable_marks;
};

/* Counts the marks in an interval; 0: it is not sampled. */
static __always_inline int count_marks(struct thread* thread, struct interval* interval) {
  u64 period = control.off_cpu_period_ns;
  u64 length = above(interval->end_ns, interval->begin_ns);
  if (!period) return 0;
  follow_period(thread, period);
  interval->blocked_marks = pass_marks(thread, above(length, interval->runnable_ns));
  interval->runnable_marks = pass_marks(thread, interval->runnable_ns);
  return interval->blocked_marks || interval->runnable_marks;
}

static __always_inline u16 leaving_flags(u32 state, u32 kind) {
  if (state == PROFD_STATE_RUNNABLE)
    return kind == PROFD_AFTER_YIELD ? PROFD_SAMPLE_YIELDED : PROFD_SAMPLE_PREEMPTED;
  return kind == PROFD_IOWAIT ? PROFD_SAMPLE_IOWAIT : 0;
}

static __always_inline void fill_interval(struct profd_sample_event* event,
                                          const struct thread* thread,
                                          const struct interval* interval) {
  event->event.flags |= leaving_flags(interval->state, interval->kind);
  event->begin_ns = interval->begin_ns;
  event->runnable_ns = interval->runnable_ns;
  event->period_ns = thread->mark_period_ns;
  event->blocked_marks = interval->blocked_marks;
  event->runnable_marks = interval->runnable_marks;
  event->task_state = thread->task_state;
}

static __noinline void take_off_cpu_sample(void* ctx, struct task_struct* task,
                                           struct thread* thread, const struct interval* interval) {
  struct scratch* scratch;
  u32 zero = 0;
  scratch = bpf_map_lookup_elem(&scratch_switch_in, &zero);
  if (!scratch) return;
  if (scratch->busy) {
    count(PROFD_COUNTER_SCRATCH_BUSY);
    return;
  }
  scratch->busy = 1;
  barrier();
  begin_sample(&scratch->sample.event, task, PROFD_EVENT_OFF_CPU, interval->end_ns,
               interval->sessions);
  fill_interval(&scratch->sample.event, thread, interval);
  take_current_stacks(ctx, &scratch->sample.event, task);
  send_sample(&ring_sched, PROFD_RING_SCHED_BYTES, &scratch->sample.event,
              PROFD_COUNTER_OFF_CPU_SAMPLES, PROFD_COUNTER_OFF_CPU_RING_FULL);
  barrier();
  scratch->busy = 0;
}

/* Switch-out rung: keeps the stack with which a member of a session leaves. */
static __noinline void capture_switch_out(void* ctx, struct task_struct* task) {
  union sample_buffer* buffer = bpf_task_storage_get(&stacks, task, 0, 0);
  if (!buffer) return;
  begin_sample(&buffer->event, task, PROFD_EVENT_OFF_CPU, 0, 0);
  buffer->event.event.flags |= PROFD_SAMPLE_SWITCH_OUT;
  take_current_stacks(ctx, &buffer->event, task);
}

/* Switch-out rung: sends what was captured; another thread is current. */
static __noinline void send_switch_out(struct task_struct* task, struct thread* thread,
                                       const struct interval* interval) {
  union sample_buffer* buffer = bpf_task_storage_get(&stacks, task, 0, 0);
  /* Made, but not yet filled by a switch-out. */
  if (!buffer || !buffer->event.event.kind) return;
  buffer->event.event.time_ns = interval->end_ns;
  buffer->event.event.sessions = interval->sessions;
  buffer->event.event.cpu = bpf_get_smp_processor_id();
  fill_interval(&buffer->event, thread, interval);
  send_sample(&ring_sched, PROFD_RING_SCHED_BYTES, &buffer->event, PROFD_COUNTER_OFF_CPU_SAMPLES,
              PROFD_COUNTER_OFF_CPU_RING_FULL);
}
