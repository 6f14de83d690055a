/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Off-CPU samples. Whether a wait is sampled is decided when the thread switches in, because only
 * then the length of the wait is known. The thread then takes its own stack, which still shows why
 * it waited. On the switch-out level there is no hook at that moment: every member of a session
 * captures its stack at each switch-out into its own buffer, which is sent at the switch-in if the
 * wait contains a sampling point.
 */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/sample/sampling_points.bpf.h"
#include "bpf/thread/cost.bpf.h"

/* Whether a sample that is due is taken; 0: not, its process has had its share. */
static __noinline int is_taken(struct task_struct* task, struct thread* thread, u64 sessions,
                               u64 now, struct points* points) {
  /* On the switch-out level the run-queue lock is held: no share is looked up there. */
  if (constants.hook != PROFD_HOOK_SWITCH_OUT && !(sessions & ~control.shared_sessions)) {
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
  u64 sessions = thread->sessions & control.off_cpu_sessions;
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
  take_current_stacks(ctx, event, &scratch->walk, task);
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
  if (!points || !is_taken(task, thread, sessions, interval->end_ns, points)) return;
  due = *interval; /* so that, where none is due, it need not be in memory */
  take_sample(ctx, task, thread, &due, points);
}

/* Switch-out level: keeps the stack with which a member of a session leaves. */
static __noinline void capture_switch_out(void* ctx, struct task_struct* task,
                                          const struct thread* thread) {
  struct sample_buffer* buffer = bpf_task_storage_get(&stacks, task, 0, 0);
  u32 zero = 0;
  /* On this level no other program uses it. */
  struct scratch* scratch = bpf_map_lookup_elem(&scratch_switch_in, &zero);
  if (!buffer || !scratch) return;
  begin_sample(&buffer->event, task, PROFD_EVENT_OFF_CPU, 0, 0);
  buffer->event.begin_ns = thread->since_ns;
  buffer->event.event.flags |= PROFD_SAMPLE_SWITCH_OUT;
  take_current_stacks(ctx, &buffer->event, &scratch->walk, task);
}

/* The thread left before it was a member: its time is reported, but no stack is known. */
static __always_inline void begin_without_stack(struct profd_sample_event* event,
                                                struct task_struct* task) {
  begin_sample(event, task, PROFD_EVENT_OFF_CPU, 0, 0);
  event->event.flags |= PROFD_SAMPLE_SWITCH_OUT;
  event->stack_flags = PROFD_STACK_KERNEL_FAILED | PROFD_STACK_NO_USER;
}

/* Switch-out level: sends what was captured, if it is due; another thread is current. */
static __always_inline void send_switch_out(struct task_struct* task, struct thread* thread,
                                            const struct interval* interval, u64 sessions,
                                            struct switch_state* state) {
  struct points* points = count_points(state, sessions, interval);
  struct sample_buffer* buffer;
  if (!points) return;
  if (above(interval->end_ns, interval->begin_ns) < constants.min_switch_out_ns) return;
  if (!is_taken(task, thread, sessions, interval->end_ns, points)) return;
  buffer = bpf_task_storage_get(&stacks, task, 0, 0);
  if (!buffer) return;
  if (buffer->event.begin_ns != interval->begin_ns) begin_without_stack(&buffer->event, task);
  buffer->event.event.time_ns = interval->end_ns;
  buffer->event.event.sessions = sessions;
  if (!is_requested(sessions)) buffer->event.event.flags |= PROFD_SAMPLE_BACKGROUND;
  buffer->event.event.cpu = bpf_get_smp_processor_id();
  fill_interval(&buffer->event, thread, interval, points);
  send_sample(&ring_sched, PROFD_RING_SCHED_BYTES, buffer, 0, PROFD_COUNTER_OFF_CPU_SAMPLES,
              PROFD_COUNTER_OFF_CPU_RING_FULL);
  buffer->event.begin_ns = 0; /* its stack is packed: of no interval any more */
}
