/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Who ends a wait. The hook runs in the thread that wakes another one, or in an interrupt of a
 * thread that has no part in it, with interrupts off and a lock of the wakee held. What it captures
 * is sent at once: a wait that holds no sampling point costs two comparisons, and nothing is kept.
 */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/followed.bpf.h"
#include "bpf/sample/record.bpf.h"
#include "bpf/sample/sampling_points.bpf.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/kernel_sums.bpf.h"

/*
 * By kernel accounting a wait lasts somewhat longer than to the wake-up: to where the thread is
 * queued. One that is woken on its way to sleep has not begun yet. A point that lies so much behind
 * the wake-up may be in the wait.
 */
#define WAKE_UP_LAG_NS 50000

/* Whether there is an entry of an interrupt between the wake-up and the entry to the kernel. */
static __always_inline int is_interrupt(const struct waker_call* call, u64 frames) {
  u64 begin = control.interrupts_begin, length = control.interrupts_end - begin;
  u64 found = 0; /* in its highest bit */
  for (u64 i = 0; i < PROFD_MAX_KERNEL_FRAMES; i++) {
    /* Without a branch: the verifier follows both ways of each, in every round. */
    u64 offset = call->kernel[i] - begin;
    found |= (~offset & (offset - length)) & (i - frames);
  }
  return found >> 63;
}

/* An interrupt's event names no thread: the one that it has interrupted has no part in it. */
static __always_inline void forget_thread(struct profd_sample_event* event) {
  event->event.flags |= PROFD_SAMPLE_INTERRUPT;
  event->event.pid = event->event.tid = 0;
  event->event.process_start_ns = event->event.thread_start_ns = 0;
  event->stack_flags |= PROFD_STACK_NO_USER;
}

static __always_inline u32 tid_of(struct task_struct* task) {
  struct ids ids;
  read_ids(task, &ids);
  return ids.tid;
}

/* The kernel wakes all that one call ends waits of within this time. */
#define SAME_CALL_NS 100000

/* A sum of words in which their order counts. */
static __always_inline u64 sum_of(const u64* words, u32 count, u64 sum) {
  for (u32 i = 0; i < count; i++) sum = (sum << 1 | sum >> 63) + words[i];
  return sum;
}

/*
 * Whether the current thread is still in the call for which the buffer has an event, of the same
 * sessions; else notes the call that it is in. Two calls that look alike in the kernel differ in
 * what lies on top of the user stack: the frames that have made them.
 */
static __always_inline int is_same_call(struct waker_call* call, struct task_struct* waker,
                                        u64 sessions, u64 now) {
  struct pt_regs___kernel* registers = (struct pt_regs___kernel*)bpf_task_pt_regs(waker);
  u64 switches = switches_of(waker), sum;
  int same;
  if (is_kernel_thread(waker) || !waker->mm || !registers ||
      bpf_probe_read_user(call->user, sizeof(call->user), (void*)registers->sp)) {
    call->task = 0;
    return 0;
  }
  sum = sum_of(call->user, CALL_WORDS, registers->ip + registers->sp);
  sum = sum_of(call->kernel, PROFD_MAX_KERNEL_FRAMES, sum);
  same = call->task == (u64)waker && call->switches == switches && call->sessions == sessions &&
         call->sum == sum && now - call->time_ns < SAME_CALL_NS;
  call->task = (u64)waker;
  call->switches = switches;
  call->sessions = sessions;
  call->sum = sum;
  return same;
}

/* The words behind the header of a packed event of a waker that are never 0. */
#define BEGIN_WORD HEADER_WORDS
#define WAKEE_START_WORD (HEADER_WORDS + 1)
#define WAKEE_TID_WORD (HEADER_WORDS + 2) /* period_ns is 0 */

/* Sends the event in the buffer once more, for another thread that the same call wakes. */
static __always_inline void send_again(struct sample_buffer* sample, struct task_struct* task,
                                       const struct waker_call* call, u64 begin_ns, u64 now) {
  u64 bytes = call->bytes;
  int failed;
  sample->event.event.time_ns = now;
  sample->words[BEGIN_WORD] = begin_ns;
  sample->words[WAKEE_START_WORD] = task->start_boottime;
  sample->words[WAKEE_TID_WORD] = tid_of(task);
  if (bytes > sizeof(sample->words)) return;
  failed = bpf_ringbuf_output(&ring_sched, &sample->event, bytes,
                              wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES)) != 0;
  count(failed ? PROFD_COUNTER_WAKERS_RING_FULL : PROFD_COUNTER_WAKERS);
}

/* Captures the current thread, or an interrupt of it, as what wakes `task`, into the buffer. */
static __always_inline void capture_waker(struct task_struct* waker, struct task_struct* task,
                                          struct scratch* scratch, const struct waker_call* call,
                                          s64 kernel_bytes, int interrupt, u64 sessions,
                                          u64 begin_ns, u64 now) {
  struct profd_sample_event* event = &scratch->sample.event;
  begin_sample(event, waker, PROFD_EVENT_WAKER, now, sessions);
  event->begin_ns = begin_ns;
  event->wakee_start_ns = task->start_boottime;
  event->wakee_tid = tid_of(task);
  __builtin_memcpy(event->frames, call->kernel, sizeof(call->kernel));
  keep_kernel_stack(event, kernel_bytes);
  if (interrupt) return forget_thread(event);
  event->foreign_sessions = foreign_sessions(waker, sessions);
  if (take_user_registers(event, &scratch->walk, waker))
    walk_current(&scratch->sample, &scratch->walk);
  __builtin_memcpy(event->comm, waker->comm, PROFD_COMM_LEN);
  follow_thread(waker, sessions & ~event->foreign_sessions, now);
}

/* `task`, a member of `sessions`, is woken at `now`. */
static __noinline void take_waker(void* ctx, struct task_struct* task, u64 sessions, u64 begin_ns,
                                  u64 now) {
  struct task_struct* waker = bpf_get_current_task_btf();
  struct scratch* scratch;
  struct waker_call* call;
  int interrupt, again = 0;
  s64 kernel_bytes;
  u32 zero = 0;
  scratch = bpf_map_lookup_elem(&scratch_waking, &zero);
  call = bpf_map_lookup_elem(&waker_calls, &zero);
  if (!scratch || !call) return;
  if (scratch->busy) {
    count(PROFD_COUNTER_SCRATCH_BUSY);
    return;
  }
  scratch->busy = 1;
  barrier();
  kernel_bytes = bpf_get_stack(ctx, call->kernel, sizeof(call->kernel), 0);
  interrupt = !waker->pid || (kernel_bytes > 0 && is_interrupt(call, kernel_bytes / sizeof(u64)));
  if (interrupt)
    call->task = 0;
  else
    again = is_same_call(call, waker, sessions, now);
  if (again && begin_ns && call->bytes) {
    send_again(&scratch->sample, task, call, begin_ns, now);
  } else {
    capture_waker(waker, task, scratch, call, kernel_bytes, interrupt, sessions, begin_ns, now);
    call->bytes = send_sample(&ring_sched, PROFD_RING_SCHED_BYTES, &scratch->sample, &scratch->walk,
                              PROFD_COUNTER_WAKERS, PROFD_COUNTER_WAKERS_RING_FULL);
    if (!begin_ns) call->bytes = 0;
    call->time_ns = now;
  }
  barrier();
  scratch->busy = 0;
  count_stack_cost(now, sessions);
}

/* Whether an interval, or what follows it at once, has a sampling point. */
static __always_inline int may_have_point(struct switch_state* state, u64 sessions, u64 begin_ns,
                                          u64 end_ns) {
  u64 level = is_requested(sessions) ? control.off_cpu_level : control.background_off_cpu_level;
  struct point_gap* gap = &state->waking_gap;
  end_ns += WAKE_UP_LAG_NS;
  if (gap->level == level && begin_ns > gap->after_ns && end_ns <= gap->until_ns) return 0;
  return find_points(gap, level, begin_ns, end_ns, 0) != 0;
}

/* A thread is being woken. The first wake-up ends its wait. */
static __always_inline void waking(void* ctx, struct task_struct* task) {
  struct thread* thread = find_clock(task);
  struct switch_state* state = this_switch();
  u64 sessions, now, begin_ns, since_ns;
  u32 thread_state;
  int due;
  if (!thread || !state) return;
  sessions = (thread->sessions | thread->followed) & control.waker_sessions;
  if (!sessions) return;
  thread_state = thread->state;
  barrier(); /* since_ns is written before it */
  since_ns = thread->since_ns;
  if (thread_state == PROFD_STATE_BLOCKED) {
    if (thread->woken_ns >= since_ns) return;
    begin_ns = since_ns;
    now = bpf_ktime_get_ns();
    thread->woken_ns = now;
  } else if (thread_state == PROFD_STATE_ON_CPU) {
    begin_ns = 0; /* on its way to sleep */
    since_ns = now = bpf_ktime_get_ns();
  } else {
    return;
  }
  due = may_have_point(state, sessions, since_ns, now);
  if (cost_is_due(now)) add_cost(now);
  if (due) take_waker(ctx, task, sessions, begin_ns, now);
}

static __always_inline void name_no_waker(struct profd_event* event, u16 flag) {
  event->flags |= flag;
  event->pid = event->tid = 0;
  event->process_start_ns = event->thread_start_ns = 0;
}

/* The current thread, or an interrupt of it, wakes `task` at `now`. A share is taken where its
 * process has one already: here none can be made. */
static __always_inline void record_wake(void* ctx, struct task_struct* task, u64 sessions,
                                        u64 begin_ns, u64 now) {
  struct profd_share_key key = {.kind = PROFD_SHARE_SWITCHES, .id = event_pid(task)};
  struct task_struct* waker = bpf_get_current_task_btf();
  struct profd_wake_event event = {};
  struct profd_share* share;
  struct waker_call* call;
  s64 kernel_bytes;
  u32 zero = 0;
  call = bpf_map_lookup_elem(&waker_calls, &zero);
  share = bpf_map_lookup_elem(&shares, &key);
  if (!call) return;
  if (share && !take_one(share, now, PROFD_SWITCHES_PER_SECOND * constants.share_scale,
                         PROFD_SWITCHES_AT_ONCE))
    return count(PROFD_COUNTER_SWITCHES_BEYOND_SHARE);
  kernel_bytes = bpf_get_stack(ctx, call->kernel, sizeof(call->kernel), 0);
  fill_event(&event.event, waker, PROFD_EVENT_WAKE, now, sessions);
  event.event.size = sizeof(event);
  event.begin_ns = begin_ns;
  event.wakee_start_ns = task->start_boottime;
  event.wakee_tid = tid_of(task);
  if (!waker->pid || (kernel_bytes > 0 && is_interrupt(call, kernel_bytes / sizeof(u64))))
    name_no_waker(&event.event, PROFD_WAKE_INTERRUPT);
  else if (foreign_sessions(waker, sessions))
    name_no_waker(&event.event, PROFD_WAKE_HIDDEN);
  send_record(&event, sizeof(event));
}

/* The same for a session that records all wake-ups. Of several of one wait the first one counts. */
static __always_inline void waking_recorded(void* ctx, struct task_struct* task) {
  struct thread* thread = find_clock(task);
  u64 sessions, since_ns;
  u32 state;
  if (!thread) return;
  sessions = thread->sessions & control.switch_sessions & control.waker_sessions;
  if (!sessions) return;
  state = thread->state;
  barrier(); /* since_ns is written before it */
  since_ns = state == PROFD_STATE_BLOCKED ? thread->since_ns : 0;
  if (state == PROFD_STATE_BLOCKED || state == PROFD_STATE_ON_CPU)
    record_wake(ctx, task, sessions, since_ns, bpf_ktime_get_ns());
}
