/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Off-CPU samples. Whether a wait is sampled is decided when the thread switches in, because only
 * then the length of the wait is known. The thread then takes its own stack, which still shows why
 * it waited.
 */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/followed.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/sample/sampling_points.bpf.h"
#include "bpf/thread/cost.bpf.h"

/* Whether a sample that is due is taken; 0: not, its process has had its share. */
static __noinline int is_taken(struct task_struct* task, struct thread* thread, u64 sessions,
                               u64 now, struct points* points) {
  if (!(sessions & ~control.shared_sessions)) {
    int halvings = take_wait(event_pid(task), now);
    if (halvings < 0) {
      count(PROFD_COUNTER_WAITS_BEYOND_SHARE);
      return 0;
    }
    points->halvings = halvings;
  }
  return may_report(task, thread);
}

static __always_inline u16 leaving_flags(u32 state, u32 kind) {
  if (state == PROFD_STATE_RUNNABLE)
    return kind == PROFD_AFTER_YIELD ? PROFD_SAMPLE_YIELDED : PROFD_SAMPLE_PREEMPTED;
  return kind == PROFD_IOWAIT ? PROFD_SAMPLE_IOWAIT : 0;
}

static __always_inline void fill_interval(struct profd_sample_event* event,
                                          const struct thread* thread,
                                          const struct interval* interval,
                                          const struct points* points) {
  event->event.flags |= leaving_flags(interval->state, interval->kind) |
                        points->halvings << PROFD_SAMPLE_HALVINGS_SHIFT;
  event->begin_ns = interval->begin_ns;
  event->runnable_ns = interval->runnable_ns;
  event->period_ns = 1ull << ((points->level + points->halvings) & 63);
  event->blocked_points = points->blocked;
  event->runnable_points = points->runnable;
  event->task_state = thread->task_state;
}

/* Takes and sends the sample of an interval that has ended for the current thread. */
static __noinline void take_sample(void* ctx, struct task_struct* task, struct thread* thread,
                                   const struct interval* interval, const struct points* points) {
  struct profd_sample_event* event;
  u64 followed = followed_sessions(thread, interval->end_ns) & ~thread->sessions;
  u64 sessions = (thread->sessions | followed) & control.off_cpu_sessions;
  u64 began = bpf_ktime_get_ns();
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
  event = &scratch->sample.event;
  begin_sample(event, task, PROFD_EVENT_OFF_CPU, interval->end_ns, sessions);
  fill_interval(event, thread, interval, points);
  event->followed_sessions = followed & control.off_cpu_sessions;
  event->number = thread->samples;
  take_current_stacks(ctx, &scratch->sample, &scratch->walk, task);
  send_sample(&ring_sched, PROFD_RING_SCHED_BYTES, &scratch->sample, &scratch->walk,
              PROFD_COUNTER_OFF_CPU_SAMPLES, PROFD_COUNTER_OFF_CPU_RING_FULL);
  barrier();
  scratch->busy = 0;
  count_stack_cost(began, sessions);
}

/* The same, if it is due. */
static __always_inline void take_switch_in(void* ctx, struct task_struct* task,
                                           struct thread* thread, u64 sessions,
                                           const struct interval* interval,
                                           struct switch_state* state) {
  struct points* points = count_points(state, sessions, interval);
  struct interval due;
  if (!points) return;
  thread->samples++;
  if (!is_taken(task, thread, sessions, interval->end_ns, points)) return;
  due = *interval; /* so that, where none is due, it need not be in memory */
  take_sample(ctx, task, thread, &due, points);
}
