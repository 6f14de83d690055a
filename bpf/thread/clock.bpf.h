/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The thread clock: the ns and counts of one thread per state, exact, without sampling.
 *
 *                        switch-out, preempted or yielding
 *            ON_CPU  ------------------------------------->  RUNNABLE
 *              ^  |                                             |
 *              |  +--- switch-out, sleeping --->  BLOCKED       |
 *              |                                     |          |
 *              +---------- switch-in ----------------+----------+
 *
 * A BLOCKED interval ends at the switch-in, too. Kernel accounting (run_delay) or a wake-up hook
 * says how much of its end was spent waiting for a CPU; that part goes to RUNNABLE as
 * PROFD_AFTER_WAKEUP. Everything here works on one `struct thread` and on times passed in. Nothing
 * reads the kernel, so tests compile it as user code.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* What kernel accounting says about a thread at this moment. */
struct kernel_accounting {
  u64 run_delay;
  u64 sum_exec;
  u64 stolen; /* from the CPU that the thread is on, or was on last: only differences count */
};

/* An off-CPU interval that has ended. */
struct interval {
  u64 begin_ns;
  u64 end_ns;
  u64 runnable_ns; /* at its end */
  u32 state;       /* in which it began, with its kind */
  u32 kind;
};

/* How a thread leaves the CPU. */
struct leaving {
  u32 state; /* PROFD_STATE_BLOCKED, _RUNNABLE or _DEAD */
  u32 kind;  /* enum profd_blocked or enum profd_runnable, by state */
  u32 task_state;
  u32 cpu;
};

static __always_inline u64 smaller(u64 a, u64 b) { return a < b ? a : b; }
/* The difference is hidden: clang makes a saturating subtraction of it, thrice as long in BPF. */
static __always_inline u64 above(u64 a, u64 b) {
  u64 difference = a - b;
  forget(difference);
  return a > b ? difference : 0;
}

/* More than this between two clocks is not a lag but a jump. */
#define MAX_LAG_NS 1000000

/* Length of [begin, end). Begins are moved into the future by a lag at most, see wait_end. */
static __always_inline u64 length_of(u64 begin_ns, u64 end_ns) {
  if (end_ns >= begin_ns) return end_ns - begin_ns;
  if (begin_ns - end_ns > MAX_LAG_NS) count(PROFD_COUNTER_CLOCK_WENT_BACK);
  return 0;
}

/*
 * Adds `length` of the present state: on a CPU at most `part` are stolen; off it at most the first
 * `part` are blocked.
 */
static __always_inline void add_interval(struct profd_clock* clock, u32 state, u32 kind, u64 length,
                                         u64 part) {
  part = smaller(part, length);
  if (state == PROFD_STATE_ON_CPU) {
    clock->stolen_ns[PROFD_STOLEN_EXACT] += part;
    clock->on_cpu_ns += length - part;
  } else if (state == PROFD_STATE_RUNNABLE) {
    clock->runnable_ns[kind & 3] += length;
  } else {
    clock->blocked_ns[kind & 3] += part;
    clock->runnable_ns[PROFD_AFTER_WAKEUP] += length - part;
  }
}

/* What of `stolen` ns of an interval lies in its first `length` of `whole` ns: nothing says when
 * they were taken. To 2^-16 s where it is longer than 2^32 ns. */
static __always_inline u64 stolen_until(u64 stolen, u64 length, u64 whole) {
  u32 shift = whole >> 48 ? 32 : whole >> 32 ? 16 : 0;
  u64 rest = above(whole, length);
  stolen = smaller(stolen, whole);
  if (!(whole >> shift)) return 0;
  return stolen -
         smaller(stolen, ((stolen >> shift) * (rest >> shift) / (whole >> shift)) << shift);
}

/* Keeps what the clock showed at the epoch that lies in the present interval of `whole` ns. */
static __noinline void keep_epoch(struct thread* thread, u64 whole, u64 part) {
  struct epoch_totals* kept = &thread->kept;
  u64 epoch_ns = control.epoch_ns;
  u64 length = above(epoch_ns, thread->since_ns);
  u32 state = thread->state;
  if (state == PROFD_STATE_ON_CPU) part = part ? stolen_until(part, length, whole) : 0;
  kept->clock = thread->clock;
  kept->moves = thread->moves;
  add_interval(&kept->clock, state, thread->kind, length, part);
  if (state == PROFD_STATE_BLOCKED && length > part) state = PROFD_STATE_RUNNABLE;
  thread->kept_state = state;
  kept->since_ns = thread->since_ns;
  kept->time_ns = epoch_ns;
  kept->number = control.epoch;
}

/*
 * Ends the present interval; the next one begins where it ends. `part` is that of add_interval.
 * Always: the sum of the clock's ns is since_ns - begin_ns, and no number in it ever goes down. A
 * global function: the verifier checks it once, wherever an interval ends.
 */
__noinline int close_interval(struct thread* thread, u64 end_ns, u64 length, u64 part) {
  if (!thread) return 0;
  if (thread->kept.number != (u32)control.epoch && end_ns >= control.epoch_ns)
    keep_epoch(thread, length, part);
  add_interval(&thread->clock, thread->state, thread->kind, length, part);
  thread->since_ns += length;
  return 0;
}

/* How much of an off-CPU interval of `length` that ends at `end_ns` was spent runnable. */
static __always_inline u64 runnable_part(const struct thread* thread, u64 end_ns, u64 length,
                                         u64 run_delay) {
  if (thread->state == PROFD_STATE_RUNNABLE) return length;
  if (constants.split == PROFD_SPLIT_RUN_DELAY)
    return smaller(length, above(run_delay, thread->run_delay));
  return thread->woken_ns ? smaller(length, above(end_ns, thread->woken_ns)) : 0;
}

/* Ends an off-CPU interval; returns the runnable part of it. */
static __always_inline u64 close_off_cpu(struct thread* thread, u64 end_ns, u64 run_delay) {
  u64 length = length_of(thread->since_ns, end_ns);
  u64 runnable = runnable_part(thread, end_ns, length, run_delay);
  close_interval(thread, end_ns, length, length - runnable);
  return runnable;
}

/* What was stolen from the thread since it came. */
static __always_inline u64 stolen_part(const struct thread* thread,
                                       const struct kernel_accounting* accounting) {
  return above(accounting->stolen, thread->stolen);
}

static __always_inline void close_on_cpu(struct thread* thread, u64 end_ns, u64 stolen) {
  close_interval(thread, end_ns, length_of(thread->since_ns, end_ns), stolen);
}

/* Counts a migration by how far it leads. A global function: as above. */
__noinline int count_move(struct thread* thread, u32 from, u32 to) {
  const struct profd_cpu_place* left = bpf_map_lookup_elem(&cpu_places, &from);
  const struct profd_cpu_place* came = bpf_map_lookup_elem(&cpu_places, &to);
  if (!thread || !left || !came) return 0;
  if (left->core == PROFD_NOWHERE || came->core == PROFD_NOWHERE) return 0;
  thread->moves.core += left->core != came->core;
  thread->moves.cache += left->cache != came->cache;
  thread->moves.node += left->node != came->node;
  return 0;
}

/* Begins an interval on a CPU where the last one ended. */
static __always_inline void open_on_cpu(struct thread* thread, u32 cpu) {
  struct profd_clock* clock = &thread->clock;
  /* Preemptions and yields were counted when they began. */
  if (thread->state == PROFD_STATE_BLOCKED || thread->kind == PROFD_AFTER_WAKEUP)
    clock->runnable_count[PROFD_AFTER_WAKEUP]++;
  clock->on_cpu_count++;
  if (thread->cpu != cpu) {
    /* Where a new thread begins is no migration. */
    if (thread->cpu != NO_CPU) {
      clock->migrations++;
      if (constants.places) count_move(thread, thread->cpu, cpu);
    }
    thread->cpu = cpu;
  }
  thread->state = PROFD_STATE_ON_CPU;
}

/*
 * When a wake-up takes the CPU from another thread, the kernel dates the switch by the run-queue
 * clock it read at the wake-up: some 1.5 us before the switch hooks run, more when the CPU has to
 * leave an idle state first. Thread clocks follow the kernel, so that on_cpu is what top and
 * CLOCK_THREAD_CPUTIME_ID say and runnable what schedstat says. By how much the two are apart is
 * known at the end of an interval only, when kernel accounting has it; the interval is then made to
 * end that much later or earlier, and the next one to begin there.
 *
 * What the kernel leaves out of run time (interrupts, a hypervisor) is stolen. The run queue of a
 * CPU has two clocks, of which one leaves that out (reading: stolen_from_cpu of task.bpf.h). The
 * kernel reads both at each switch, and takes run time from the one. So how much their difference
 * has grown while a thread was on the CPU is what was stolen from it, to the ns, and 0 without an
 * error of either sign where nothing was.
 */

/* By how much an interval is longer in kernel accounting than for the hooks. */
static __always_inline u64 lag_of(u64 accounted, u64 seen) {
  u64 lag = above(accounted, seen);
  return lag <= MAX_LAG_NS ? lag : 0;
}

/*
 * When a wait that the hooks saw to last from `begin_ns` to `now` ended by kernel accounting. They
 * hold nothing where the thread was preempted while it was going to sleep: it is not queued then.
 */
static __always_inline u64 accounted_end(u64 accounted, u64 begin_ns, u64 now) {
  u64 seen = above(now, begin_ns);
  u64 apart = accounted > seen ? accounted - seen : seen - accounted;
  return accounted && apart <= MAX_LAG_NS && now >= begin_ns ? begin_ns + accounted : now;
}

/* The hook of a switch-out runs so long after the moment that the kernel dates it, as a rule. */
#define MAX_HOOK_LAG_NS 2000

/*
 * When a thread that the hook saw leave at `now` did so by kernel accounting: it ran for `ran`, and
 * `stolen` was taken from it. Not earlier than the hook may lag, as the kernel's clock is not
 * slewed as CLOCK_MONOTONIC is; and not before an epoch, up to which a reading may have counted it.
 */
static __always_inline u64 ran_until(const struct thread* thread, u64 now, u64 ran, u64 stolen) {
  u64 seen = above(now, thread->switch_in_ns), accounted = ran + stolen, end_ns;
  if (accounted >= seen || !ran) return now + lag_of(accounted, seen);
  end_ns = now - smaller(seen - accounted, MAX_HOOK_LAG_NS);
  return end_ns < control.epoch_ns && control.epoch_ns <= now ? now : end_ns;
}

/* The thread came back: the hook saw it at `now`. */
static __always_inline void come_back(struct thread* thread, u64 now,
                                      const struct kernel_accounting* accounting, u32 cpu,
                                      struct interval* interval) {
  u64 accounted = above(accounting->run_delay, thread->run_delay);
  u64 end_ns = now;
  if (thread->state == PROFD_STATE_BLOCKED)
    end_ns += lag_of(accounted, above(now, thread->since_ns));
  else if (thread->kind != PROFD_AFTER_WAKEUP)
    end_ns = accounted_end(accounted, thread->since_ns, now);
  interval->begin_ns = thread->since_ns;
  interval->state = thread->state;
  interval->kind = thread->kind;
  interval->runnable_ns = close_off_cpu(thread, end_ns, accounting->run_delay);
  interval->end_ns = thread->since_ns;
  thread->run_delay = accounting->run_delay;
  thread->switch_in_ns = smaller(now, thread->since_ns);
  open_on_cpu(thread, cpu);
}

/*
 * The thread was off CPU when last seen but runs now, and its switch-in was not seen. The kernel's
 * run time (`accounting`) says how long it has been on the CPU. Off-CPU time comes first.
 */
static __always_inline void reconcile_missed_switch_in(struct thread* thread, u64 now,
                                                       const struct kernel_accounting* accounting,
                                                       u32 cpu) {
  u64 length = length_of(thread->since_ns, now);
  u64 on_cpu = smaller(length, above(accounting->sum_exec, thread->sum_exec));
  close_off_cpu(thread, now - on_cpu, accounting->run_delay);
  thread->run_delay = accounting->run_delay;
  thread->switch_in_ns = now - on_cpu;
  thread->stolen = accounting->stolen;
  open_on_cpu(thread, cpu);
}

/* The thread was on CPU when last seen, and its switch-out was not seen. On-CPU comes first. */
static __noinline void reconcile_missed_switch_out(struct thread* thread, u64 now, u64 sum_exec) {
  u64 length = length_of(thread->since_ns, now);
  close_on_cpu(thread, now - length + smaller(length, above(sum_exec, thread->sum_exec)), 0);
  thread->state = PROFD_STATE_BLOCKED;
  thread->kind = PROFD_INTERRUPTIBLE;
  thread->clock.blocked_count[PROFD_INTERRUPTIBLE]++;
  thread->sum_exec = sum_exec;
}

/* The thread leaves the CPU, and its coming has not been settled: only seen, or not even that. */
static __noinline void reconcile_switch_in(struct thread* thread, u64 now,
                                           const struct kernel_accounting* accounting, u32 cpu) {
  struct interval interval;
  if (thread->switch_in_ns) {
    come_back(thread, thread->switch_in_ns, accounting, cpu, &interval);
  } else {
    /* The clock may have been made while the thread switched in, between the hook and the moment
     * from which the kernel says that it runs. That is no switch-in that a hook has missed. */
    if (thread->since_ns != thread->begin_ns) count(PROFD_COUNTER_SWITCH_IN_MISSED);
    reconcile_missed_switch_in(thread, now, accounting, cpu);
  }
}

static __always_inline void begin_write(struct thread* thread) {
  thread->sequence++;
  barrier();
}

static __always_inline void end_write(struct thread* thread) {
  barrier();
  thread->sequence++;
}

/* The thread leaves the CPU at `now`. */
static __always_inline void clock_switch_out(struct thread* thread, u64 now,
                                             const struct kernel_accounting* accounting,
                                             const struct leaving* leaving) {
  u64 stolen, end_ns;
  begin_write(thread);
  if (thread->state != PROFD_STATE_ON_CPU)
    reconcile_switch_in(thread, now, accounting, leaving->cpu);
  stolen = stolen_part(thread, accounting);
  end_ns = ran_until(thread, now, above(accounting->sum_exec, thread->sum_exec), stolen);
  close_on_cpu(thread, end_ns, stolen);
  if (leaving->state == PROFD_STATE_BLOCKED)
    thread->clock.blocked_count[leaving->kind & 3]++;
  else if (leaving->state == PROFD_STATE_RUNNABLE)
    thread->clock.runnable_count[leaving->kind & 3]++;
  thread->state = leaving->state;
  thread->kind = leaving->kind;
  thread->task_state = leaving->task_state;
  thread->run_delay = accounting->run_delay;
  thread->sum_exec = accounting->sum_exec;
  thread->switch_in_ns = 0;
  if (constants.split == PROFD_SPLIT_WAKEUP) thread->woken_ns = 0;
  end_write(thread);
}

/* The thread switches in, seen at `now`. Returns the interval that ends. */
static __always_inline void clock_switch_in(struct thread* thread, u64 now,
                                            const struct kernel_accounting* accounting, u32 cpu,
                                            struct interval* interval) {
  begin_write(thread);
  if (thread->state == PROFD_STATE_ON_CPU) {
    count(PROFD_COUNTER_SWITCH_OUT_MISSED);
    reconcile_missed_switch_out(thread, now, accounting->sum_exec);
  }
  come_back(thread, now, accounting, cpu, interval);
  thread->stolen = accounting->stolen;
  end_write(thread);
}

/* The first switch-in of a thread: no hook settles it before the thread leaves. */
static __always_inline void note_switch_in(struct thread* thread, u64 now, u64 stolen) {
  if (thread->state != PROFD_STATE_BLOCKED) return;
  thread->stolen = stolen;
  thread->switch_in_ns = now;
}

/* PROFD_SPLIT_WAKEUP. A thread that is awake already is woken too, while it decides to sleep. */
static __always_inline void clock_wake(struct thread* thread, u64 now) {
  if (thread->state == PROFD_STATE_BLOCKED && !thread->woken_ns) thread->woken_ns = now;
}

/* Makes the clock of a thread that is in `state` at `now`. Hooks act on it from the last line.
 * There may be one of a time before the hooks were detached. */
static __always_inline void begin_clock(struct thread* thread, u64 now, u32 state, u32 kind,
                                        const struct kernel_accounting* accounting, u32 cpu,
                                        u64 blocks) {
  __builtin_memset(&thread->clock, 0, sizeof(thread->clock));
  __builtin_memset(&thread->kept, 0, sizeof(thread->kept));
  __builtin_memset(&thread->moves, 0, sizeof(thread->moves));
  thread->kept_state = 0;
  thread->switch_in_ns = 0;
  thread->woken_ns = 0;
  thread->exiting = 0;
  thread->since_ns = now;
  thread->state = state;
  thread->kind = kind;
  thread->cpu = cpu;
  thread->run_delay = accounting->run_delay;
  /* How much of the kernel's run time belongs to the present interval is not known. */
  thread->sum_exec = state == PROFD_STATE_ON_CPU ? ~0ull : accounting->sum_exec;
  thread->stolen = accounting->stolen;
  if (state == PROFD_STATE_ON_CPU) thread->switch_in_ns = now;
  if (state == PROFD_STATE_BLOCKED) thread->clock.blocked_count[kind & 3] = blocks;
  if (state == PROFD_STATE_ON_CPU) thread->clock.on_cpu_count = 1;
  /* Epochs before its birth are not kept: all of its totals were zero. */
  if (now >= control.epoch_ns) {
    thread->kept.number = control.epoch;
    thread->kept.time_ns = control.epoch_ns;
  }
  barrier();
  thread->begin_ns = now;
  barrier();
  thread->generation = control.clock_generation;
}

static __always_inline void clock_begin(struct thread* thread, u64 now, u32 state, u32 kind,
                                        const struct kernel_accounting* accounting, u32 cpu) {
  begin_clock(thread, now, state, kind, accounting, cpu, 1);
}

/*
 * Makes the clock of a new thread. It is not on a run queue until its parent has put it together
 * (some us, or for as long as the parent is preempted meanwhile): that is blocked, but no switch.
 */
static __always_inline void clock_begin_created(struct thread* thread, u64 now,
                                                const struct kernel_accounting* accounting) {
  begin_clock(thread, now, PROFD_STATE_BLOCKED, PROFD_UNINTERRUPTIBLE, accounting, NO_CPU, 0);
}
