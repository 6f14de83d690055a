/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * If threads switch so often that clocks cost too much, threads that are only in background
 * sessions use kernel accounting: the hooks note when they leave, and nothing else. The growth of
 * kernel accounting is added when the thread is read, or when the hooks update its clock again: run
 * time is on_cpu, run_delay is runnable, and the rest is blocked. The sum stays exact. Counts,
 * kinds and off-CPU samples are lost, and up to a tick of a thread that runs at that moment.
 *
 * Like clock.bpf.h, this uses nothing but its arguments.
 */
#pragma once

#include "bpf/thread/clock_reading.bpf.h"

/* Whether a thread's switches are left to kernel accounting. Before its run time is known, not. */
static __always_inline int by_kernel_accounting(const struct thread* thread) {
  u64 sessions = control.sessions;
  return control.kernel_accounted_sessions && thread->sum_exec != ~0ull &&
         !(thread->sessions & sessions & ~control.kernel_accounted_sessions);
}

static __always_inline int all_by_kernel_accounting(void) {
  return control.kernel_accounted_sessions &&
         !(control.sessions & ~control.kernel_accounted_sessions);
}

/* A switch-out that is left to kernel accounting. */
static __always_inline void note_leaving(struct thread* thread, u64 now, u64 run_delay, u32 state) {
  thread->left_run_delay = run_delay;
  thread->left_state = state;
  thread->left_ns = now;
}

/* Off the CPU, of a kind that kernel accounting does not know. */
static __always_inline int is_special(const struct thread* thread) {
  return thread->state == PROFD_STATE_BLOCKED    ? thread->kind != PROFD_INTERRUPTIBLE
         : thread->state == PROFD_STATE_RUNNABLE ? thread->kind != PROFD_AFTER_WAKEUP
                                                 : 0;
}

static __always_inline u64 reported_waits(const struct thread* thread) {
  const struct reported* reported = &thread->reported;
  return reported->runnable_ns + (thread->state == PROFD_STATE_RUNNABLE ? reported->first_ns : 0);
}

/*
 * Reports the current interval up to `end_ns`. Earlier reports stay as they are: kernel accounting
 * is read some time after the instant that is reported, so it may hold more than fits.
 */
static __always_inline void report(struct thread* thread, u64 end_ns,
                                   const struct kernel_accounting* accounting) {
  struct reported* reported = &thread->reported;
  u64 left, more, waited;
  if (reported->since_ns != thread->since_ns) {
    __builtin_memset(reported, 0, sizeof(*reported));
    reported->since_ns = thread->since_ns;
    reported->end_ns = thread->since_ns;
  }
  left = above(end_ns, reported->end_ns);
  more = smaller(left, above(above(accounting->sum_exec, thread->sum_exec), reported->on_cpu_ns));
  reported->end_ns += left;
  reported->on_cpu_ns += more;
  left -= more;
  waited = reported_waits(thread);
  more = smaller(left, above(above(accounting->run_delay, thread->run_delay), waited));
  reported->runnable_ns += more;
}

/* `clock` is that of the thread, or a copy of it. */
static __always_inline void add_reported(const struct thread* thread, struct profd_clock* clock) {
  const struct reported* reported = &thread->reported;
  u64 left = above(reported->end_ns - reported->since_ns, reported->on_cpu_ns);
  u64 first = smaller(left, reported->first_ns);
  u64 runnable = smaller(left - first, reported->runnable_ns);
  clock->on_cpu_ns += reported->on_cpu_ns;
  if (thread->state == PROFD_STATE_BLOCKED)
    clock->blocked_ns[thread->kind & 3] += first;
  else
    clock->runnable_ns[thread->kind & 3] += first;
  clock->runnable_ns[PROFD_AFTER_WAKEUP] += runnable;
  clock->blocked_ns[PROFD_INTERRUPTIBLE] += left - first - runnable;
}

/* Keeps what a reading has reported of the current epoch: later readings must agree with it. */
static __always_inline void keep_reported(struct thread* thread, const struct thread* copy) {
  const struct profd_clock* shown = &copy->kept.clock;
  struct reported* reported = &thread->reported;
  u64 since_ns = thread->since_ns;
  u32 kind = thread->kind & 3;
  if (copy->kept.time_ns < since_ns) return;
  reported->end_ns = copy->kept.time_ns;
  reported->on_cpu_ns = above(shown->on_cpu_ns, thread->clock.on_cpu_ns);
  reported->runnable_ns =
      above(shown->runnable_ns[PROFD_AFTER_WAKEUP], thread->clock.runnable_ns[PROFD_AFTER_WAKEUP]);
  reported->first_ns = 0;
  if (is_special(thread))
    reported->first_ns = thread->state == PROFD_STATE_BLOCKED
                             ? above(shown->blocked_ns[kind], thread->clock.blocked_ns[kind])
                             : above(shown->runnable_ns[kind], thread->clock.runnable_ns[kind]);
  reported->since_ns = since_ns;
}

/* Ends the interval that used kernel accounting at `end_ns`, keeps the epoch in it. */
static __always_inline void close_kernel_accounting(struct thread* thread, u64 end_ns,
                                                    const struct kernel_accounting* accounting) {
  struct epoch_totals* kept = &thread->kept;
  u64 waited;
  /* The thread may have switched in several times. The first one is counted: a reading may have
   * reported it. */
  if (thread->state != PROFD_STATE_ON_CPU) {
    if (thread->state == PROFD_STATE_BLOCKED || thread->kind == PROFD_AFTER_WAKEUP)
      thread->clock.runnable_count[PROFD_AFTER_WAKEUP]++;
    thread->clock.on_cpu_count++;
  }
  if (kept->number != (u32)control.epoch && end_ns >= control.epoch_ns) {
    report(thread, control.epoch_ns, accounting);
    kept->clock = thread->clock;
    add_reported(thread, &kept->clock);
    kept->state = PROFD_STATE_ON_CPU;
    kept->since_ns = control.epoch_ns;
    kept->time_ns = control.epoch_ns;
    kept->number = control.epoch;
  }
  report(thread, end_ns, accounting);
  add_reported(thread, &thread->clock);
  thread->since_ns = thread->reported.end_ns;
  /* A part of a wait that continues may have been reported. */
  waited = thread->run_delay + reported_waits(thread);
  thread->run_delay = waited > accounting->run_delay ? waited : accounting->run_delay;
  thread->sum_exec = accounting->sum_exec;
}

/* The hooks keep the clock again, or it is read; the thread has run until `now`. */
static __always_inline void reconcile_running(struct thread* thread, u64 now,
                                              const struct kernel_accounting* accounting) {
  close_kernel_accounting(thread, now, accounting);
  thread->state = PROFD_STATE_ON_CPU;
  thread->kind = 0;
  thread->switch_in_ns = thread->since_ns;
  thread->left_ns = 0;
}

/* The same for a thread that has not run since the last switch-out that was noted. */
static __always_inline void reconcile_off_cpu(struct thread* thread,
                                              const struct kernel_accounting* accounting) {
  struct kernel_accounting then = {.run_delay = thread->left_run_delay,
                                   .sum_exec = accounting->sum_exec};
  close_kernel_accounting(thread, thread->left_ns, &then);
  thread->state = thread->left_state;
  thread->kind =
      thread->left_state == PROFD_STATE_BLOCKED ? PROFD_INTERRUPTIBLE : PROFD_AFTER_WAKEUP;
  thread->switch_in_ns = 0;
  thread->left_ns = 0;
}

/* The copy of a thread that uses kernel accounting, made one that the hooks could have left. */
static __always_inline void reconcile_copy(struct thread* copy, u64 now,
                                           const struct kernel_accounting* accounting,
                                           int running) {
  if (!copy->left_ns) return;
  if (running)
    reconcile_running(copy, now, accounting);
  else
    reconcile_off_cpu(copy, accounting);
}
