/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where so many threads switch that clocks cost too much, threads that only booked sessions look at
 * go by the kernel's own books: the hooks note when they leave, and nothing else. What the books
 * have grown by is split off when the thread is read, or when the hooks have its clock again: run
 * time is on_cpu, run_delay is runnable, the rest blocked. The sum stays exact; what is lost are
 * counts, kinds, off-CPU samples, and, of what runs at that moment, up to a tick.
 *
 * Like clock.bpf.h, this looks at nothing but its arguments.
 */
#pragma once

#include "bpf/thread/clock_reading.bpf.h"

/* Whether a thread's switches are left to the kernel's books. Before its run time is known, not. */
static __always_inline int by_books(const struct thread* thread) {
  u64 sessions = control.sessions;
  return control.booked_sessions && thread->sum_exec != ~0ull &&
         !(thread->sessions & sessions & ~control.booked_sessions);
}

static __always_inline int all_by_books(void) {
  return control.booked_sessions && !(control.sessions & ~control.booked_sessions);
}

/* A switch-out that is left to the books. */
static __always_inline void note_leaving(struct thread* thread, u64 now, u64 run_delay, u32 state) {
  thread->left_run_delay = run_delay;
  thread->left_state = state;
  thread->left_ns = now;
}

/* Off the CPU, of a kind that the books do not know. */
static __always_inline int is_special(const struct thread* thread) {
  return thread->state == PROFD_STATE_BLOCKED    ? thread->kind != PROFD_INTERRUPTIBLE
         : thread->state == PROFD_STATE_RUNNABLE ? thread->kind != PROFD_AFTER_WAKEUP
                                                 : 0;
}

static __always_inline u64 told_waits(const struct thread* thread) {
  const struct told* told = &thread->told;
  return told->runnable_ns + (thread->state == PROFD_STATE_RUNNABLE ? told->first_ns : 0);
}

/*
 * Tells the present stretch up to `end_ns`. What was told before stands: the books are only read
 * some time after the instant that is told of, so that they may hold more than fits.
 */
static __always_inline void tell(struct thread* thread, u64 end_ns,
                                 const struct kernel_books* books) {
  struct told* told = &thread->told;
  u64 left, more, waited;
  if (told->since_ns != thread->since_ns) {
    __builtin_memset(told, 0, sizeof(*told));
    told->since_ns = thread->since_ns;
    told->end_ns = thread->since_ns;
  }
  left = above(end_ns, told->end_ns);
  more = smaller(left, above(above(books->sum_exec, thread->sum_exec), told->on_cpu_ns));
  told->end_ns += left;
  told->on_cpu_ns += more;
  left -= more;
  waited = told_waits(thread);
  more = smaller(left, above(above(books->run_delay, thread->run_delay), waited));
  told->runnable_ns += more;
}

/* `clock` is that of the thread, or a copy of it. */
static __always_inline void add_told(const struct thread* thread, struct profd_clock* clock) {
  const struct told* told = &thread->told;
  u64 left = above(told->end_ns - told->since_ns, told->on_cpu_ns);
  u64 first = smaller(left, told->first_ns);
  u64 runnable = smaller(left - first, told->runnable_ns);
  clock->on_cpu_ns += told->on_cpu_ns;
  if (thread->state == PROFD_STATE_BLOCKED)
    clock->blocked_ns[thread->kind & 3] += first;
  else
    clock->runnable_ns[thread->kind & 3] += first;
  clock->runnable_ns[PROFD_AFTER_WAKEUP] += runnable;
  clock->blocked_ns[PROFD_INTERRUPTIBLE] += left - first - runnable;
}

/* What a reading has told of the present epoch stands for all that follow. */
static __always_inline void keep_told(struct thread* thread, const struct thread* copy) {
  const struct profd_clock* shown = &copy->kept.clock;
  struct told* told = &thread->told;
  u64 since_ns = thread->since_ns;
  u32 kind = thread->kind & 3;
  if (copy->kept.time_ns < since_ns) return;
  told->end_ns = copy->kept.time_ns;
  told->on_cpu_ns = above(shown->on_cpu_ns, thread->clock.on_cpu_ns);
  told->runnable_ns =
      above(shown->runnable_ns[PROFD_AFTER_WAKEUP], thread->clock.runnable_ns[PROFD_AFTER_WAKEUP]);
  told->first_ns = 0;
  if (is_special(thread))
    told->first_ns = thread->state == PROFD_STATE_BLOCKED
                         ? above(shown->blocked_ns[kind], thread->clock.blocked_ns[kind])
                         : above(shown->runnable_ns[kind], thread->clock.runnable_ns[kind]);
  told->since_ns = since_ns;
}

/* Ends the stretch that went by the books at `end_ns`, and keeps the epoch that lies in it. */
static __always_inline void close_books(struct thread* thread, u64 end_ns,
                                        const struct kernel_books* books) {
  struct kept_epoch* kept = &thread->kept;
  u64 waited;
  /* Of all that it came since, the first time counts: a reading may have told of that. */
  if (thread->state != PROFD_STATE_ON_CPU) {
    if (thread->state == PROFD_STATE_BLOCKED || thread->kind == PROFD_AFTER_WAKEUP)
      thread->clock.runnable_count[PROFD_AFTER_WAKEUP]++;
    thread->clock.on_cpu_count++;
  }
  if (kept->number != control.epoch && end_ns >= control.epoch_ns) {
    tell(thread, control.epoch_ns, books);
    kept->clock = thread->clock;
    add_told(thread, &kept->clock);
    kept->state = PROFD_STATE_ON_CPU;
    kept->since_ns = control.epoch_ns;
    kept->time_ns = control.epoch_ns;
    kept->number = control.epoch;
  }
  tell(thread, end_ns, books);
  add_told(thread, &thread->clock);
  thread->since_ns = thread->told.end_ns;
  /* Of a wait that goes on, a part may have been told. */
  waited = thread->run_delay + told_waits(thread);
  thread->run_delay = waited > books->run_delay ? waited : books->run_delay;
  thread->sum_exec = books->sum_exec;
}

/* The hooks keep the clock again, or it is read; the thread has run until `now`. */
static __always_inline void settle_running(struct thread* thread, u64 now,
                                           const struct kernel_books* books) {
  close_books(thread, now, books);
  thread->state = PROFD_STATE_ON_CPU;
  thread->kind = 0;
  thread->switch_in_ns = thread->since_ns;
  thread->left_ns = 0;
}

/* The same for a thread that has not run since the last switch-out that was noted. */
static __always_inline void settle_off_cpu(struct thread* thread,
                                           const struct kernel_books* books) {
  struct kernel_books then = {.run_delay = thread->left_run_delay, .sum_exec = books->sum_exec};
  close_books(thread, thread->left_ns, &then);
  thread->state = thread->left_state;
  thread->kind =
      thread->left_state == PROFD_STATE_BLOCKED ? PROFD_INTERRUPTIBLE : PROFD_AFTER_WAKEUP;
  thread->switch_in_ns = 0;
  thread->left_ns = 0;
}

/* The copy of a thread that goes by the books, made one that the hooks could have left. */
static __always_inline void settle_copy(struct thread* copy, u64 now,
                                        const struct kernel_books* books, int running) {
  if (!copy->left_ns) return;
  if (running)
    settle_running(copy, now, books);
  else
    settle_off_cpu(copy, books);
}
