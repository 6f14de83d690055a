/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Context switches. The switch-out hook reads the time once, ends the interval of the thread that
 * leaves and leaves the time for the switch-in hook, which runs on the same CPU next, in the thread
 * that comes. One storage lookup each.
 */
#pragma once

#include "bpf/sample/counting.bpf.h"
#include "bpf/sample/lifecycle.bpf.h"
#include "bpf/sample/offcpu.bpf.h"
#include "bpf/sample/record.bpf.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/exiting.bpf.h"

/* Nothing is runnable with the kernel's leave but by preemption, yield, or a signal that came. */
static __noinline u32 runnable_kind(struct task_struct* task, int preempted) {
  struct pt_regs___kernel* pt_regs;
  if (preempted) return PROFD_AFTER_PREEMPTION;
  if (is_kernel_thread(task)) return PROFD_AFTER_YIELD;
  /* Preemption on the way back to user mode has no flag. */
  pt_regs = (struct pt_regs___kernel*)bpf_task_pt_regs(task);
  return pt_regs && pt_regs->orig_ax == NR_SCHED_YIELD && pt_regs->cs == USER_CS
             ? PROFD_AFTER_YIELD
             : PROFD_AFTER_PREEMPTION;
}

static __always_inline u32 blocked_kind(struct task_struct* task, u32 state) {
  if (READ_ANY_WIDTH(task, in_iowait)) return PROFD_IOWAIT;
  if ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD)) return PROFD_UNINTERRUPTIBLE;
  return PROFD_INTERRUPTIBLE;
}

/*
 * `state` is what the kernel read before it looked for signals, __state what it made of it: 0 when
 * the thread stays runnable. The preempt flag beats both.
 */
static __always_inline void read_leaving(struct task_struct* task, int preempted, u32 state,
                                         struct leaving* leaving) {
  leaving->task_state = state;
  leaving->cpu = bpf_get_smp_processor_id();
  if (preempted || !task->__state) {
    leaving->state = PROFD_STATE_RUNNABLE;
    leaving->kind = runnable_kind(task, preempted);
  } else if (state & TASK_DEAD) {
    leaving->state = PROFD_STATE_DEAD;
    leaving->kind = 0;
  } else {
    leaving->state = PROFD_STATE_BLOCKED;
    leaving->kind = blocked_kind(task, state);
  }
}

static __always_inline void count_switch(struct switch_state* state) {
  if (++state->switches < PROFD_COST_SAMPLING) return;
  count_many(PROFD_COUNTER_SWITCHES, state->switches);
  state->switches = 0;
}

/* A thread that has waited for the CPU shows how far the two clocks are apart. */
static __always_inline void follow_queue_clock(struct task_struct* task,
                                               const struct thread* thread, u64 switch_in_ns,
                                               const struct kernel_accounting* accounting,
                                               struct queue_offset* offset) {
  if (switch_in_ns && accounting->run_delay != thread->run_delay)
    learn_offset(offset, switch_in_ns, task->sched_info.last_arrival);
}

static __always_inline void thread_switches_out(void* ctx, struct task_struct* task, int preempted,
                                                u32 task_state, u64 now,
                                                struct switch_state* state) {
  struct thread* thread = find_clock(task);
  struct kernel_accounting accounting;
  struct leaving leaving;
  if (!thread) {
    /* While threads still get their clocks there is no session, so nothing is lost. One that was
     * ending already has got none, and is in no session. */
    if (control.sessions && !READ_ANY_WIDTH(task, exit_state) && !find_thread(task))
      count(PROFD_COUNTER_UNKNOWN_THREAD);
    return;
  }
  if (thread->sessions & control.pmu_sessions) counted_leaves(task);
  read_kernel_accounting(task, &accounting);
  read_leaving(task, preempted, task_state, &leaving);
  clock_switch_out(thread, now, &accounting, &leaving);
  if (leaving.state != PROFD_STATE_DEAD) return;
  send_thread_end(task, thread, thread->since_ns,
                  thread->sessions & control.sessions & ~control.observed_sessions);
  if ((thread->sessions & control.pmu_sessions) && thread->quiet != LEFT_OUT)
    send_last_sums(task, thread->since_ns, thread->sessions);
  end_exit(thread);
}

/* A new thread's first switch-in runs no switch-in hook: fork's own way leads to user mode. */
static __noinline void thread_switches_in_first(struct task_struct* task, u64 now) {
  struct thread* thread = find_clock(task);
  if (!thread) return;
  note_switch_in(thread, now, stolen_from_cpu(task));
  if (thread->sessions & control.pmu_sessions) counted_comes(task);
}

static __always_inline void switch_out(void* ctx, int preempted, struct task_struct* prev,
                                       struct task_struct* next, u32 task_state) {
  struct switch_state* state = this_switch();
  u64 now = bpf_ktime_get_ns();
  if (!state) return;
  state->time_ns = now;
  state->next = (u64)next;
  count_switch(state);
  if (prev->pid) thread_switches_out(ctx, prev, preempted, task_state, now, state);
  if (!next->se.sum_exec_runtime && next->pid) thread_switches_in_first(next, now);
  if (cost_is_due(now)) add_cost(now);
}

/* The time that this switch's switch-out hook left; read again if it has not run. */
static __always_inline u64 take_switch_time(struct switch_state* state, struct task_struct* task) {
  u64 now = state->next == (u64)task ? state->time_ns : bpf_ktime_get_ns();
  state->next = 0;
  return now;
}

static __always_inline void switch_in(void* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct kernel_accounting accounting;
  struct switch_state* state;
  struct interval interval;
  struct thread* thread;
  u64 sessions, now, entered = 0;
  if (!task->pid) return;
  state = this_switch();
  thread = find_clock(task);
  if (!thread || !state) return;
  read_kernel_accounting(task, &accounting);
  now = take_switch_time(state, task);
  if (cost_is_due(now)) entered = bpf_ktime_get_ns();
  follow_queue_clock(task, thread, now, &accounting, &state->offset);
  clock_switch_in(thread, now, &accounting, bpf_get_smp_processor_id(), &interval);
  if (entered) add_cost(entered);
  if (thread->sessions & control.switch_sessions) {
    struct interval whole =
        interval; /* so that, where none is recorded, it need not be in memory */
    record_switch(task, thread, &whole);
  }
  sessions = (thread->sessions | thread->followed) & control.off_cpu_sessions;
  if (sessions) take_switch_in(ctx, task, thread, sessions, &interval, state);
  if (!(thread->sessions & control.pmu_sessions)) return;
  if (entered) entered = bpf_ktime_get_ns();
  counted_comes(task);
  if (entered) add_cost(entered);
}

static __always_inline void woken(struct task_struct* task) {
  struct thread* thread = find_clock(task);
  if (thread) clock_wake(thread, bpf_ktime_get_ns());
}
