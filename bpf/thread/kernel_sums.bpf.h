/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading the kernel's own sums for a thread, running or not, without a hook at its switches. */
#pragma once

#include "bpf/thread/kernel_clock.bpf.h"
#include "bpf/thread/reading.bpf.h"

/* Longest time between two updates of a running thread's sum: CPUs without a tick have one a
 * second.
 */
#define MAX_SUM_AGE_NS 4000000000ull

/* It may be queued though it sleeps (kernel 6.12 and later). */
static __always_inline int is_queued(const struct task_struct* task) {
  if (!READ_ANY_WIDTH(task, on_rq)) return 0;
  return !bpf_core_field_exists(task->se.sched_delayed) || !task->se.sched_delayed;
}

static __always_inline u32 present_state(const struct task_struct* task) {
  if (is_running(task)) return PROFD_STATE_ON_CPU;
  return is_queued(task) ? PROFD_STATE_RUNNABLE : PROFD_STATE_BLOCKED;
}

/* The run-queue clock at `now`; 0: not known. */
static __always_inline u64 run_queue_time(u64 now) {
  return words.run_queue_offset_at_ns ? now - words.run_queue_offset_ns : 0;
}

/*
 * How long ago the sum of a thread was updated: what has passed since the clock of its run queue
 * was read, and from the update to that. A thread that runs lacks as much in its sum, up to a tick;
 * one that is off the CPU left it then.
 */
static __always_inline u64 time_since_summed(struct task_struct* task, u64 now) {
  u64 time = run_queue_time(now), clock, clock_task;
  struct rq* run_queue;
  if (!time || !bpf_core_field_exists(struct cfs_rq, rq)) return 0;
  run_queue = BPF_CORE_READ(task, se.cfs_rq, rq);
  clock = BPF_CORE_READ(run_queue, clock);
  clock_task = BPF_CORE_READ(run_queue, clock_task);
  return clock ? above(time, clock) + above(clock_task, task->se.exec_start) : 0;
}

/* When a thread that is off the CPU left it; `now` where that is not known. */
static __always_inline u64 left_cpu_at(struct task_struct* task, u64 now) {
  u64 away = time_since_summed(task, now);
  return away < now && task->se.exec_start ? now - away : now;
}

/* A run-queue clock showed `time` at `now`, or a little before. */
static __always_inline void follow_run_queue_clock(u64 now, u64 time) {
  struct queue_offset offset = {.ns = words.run_queue_offset_ns,
                                .at_ns = words.run_queue_offset_at_ns};
  if (!time) return;
  learn_offset(&offset, now, time);
  words.run_queue_offset_ns = offset.ns;
  words.run_queue_offset_at_ns = offset.at_ns;
}

/* The clock of this CPU's run queue, which was read at its last tick or switch; 0: not known. */
static __always_inline u64 own_run_queue_clock(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (!bpf_core_field_exists(struct cfs_rq, rq)) return 0;
  return BPF_CORE_READ(task, se.cfs_rq, rq, clock);
}

/* How long a thread that waits for a CPU has done so. */
static __always_inline u64 wait_not_summed(struct task_struct* task, u64 now) {
  u64 time = run_queue_time(now), queued = 0;
  if (bpf_core_field_exists(task->sched_info)) queued = task->sched_info.last_queued;
  return queued && time ? above(time, queued) : 0;
}

/* How long a thread that is on a CPU has been there; 0: that is not known. */
static __always_inline u64 on_cpu_for(struct task_struct* task, u64 now) {
  u64 time = run_queue_time(now);
  if (!time || !bpf_core_field_exists(task->sched_info)) return 0;
  return smaller(now, above(time, task->sched_info.last_arrival));
}

/* Brought up to `now`. */
static __always_inline void read_kernel_sums(struct task_struct* task, u64 now,
                                             struct kernel_sums* sums) {
  struct kernel_accounting accounting;
  read_kernel_accounting(task, &accounting);
  sums->on_cpu_ns = accounting.sum_exec;
  sums->runnable_ns = accounting.run_delay;
  sums->sleeps = task->nvcsw;
  sums->switches = task->nivcsw;
  sums->migrations = task->se.nr_migrations;
  sums->state = present_state(task);
  sums->padding = 0;
  if (!now) return; /* it is over: the sums are final */
  if (sums->state == PROFD_STATE_ON_CPU)
    sums->on_cpu_ns += smaller(time_since_summed(task, now), MAX_SUM_AGE_NS);
  else
    sums->runnable_ns += wait_not_summed(task, now);
}

static __always_inline u64 switches_of(const struct task_struct* task) {
  return (u64)task->nvcsw + task->nivcsw;
}

static __always_inline struct observed* find_observed(struct task_struct* task, u64 flags) {
  return bpf_task_storage_get(&observed_threads, task, 0, flags);
}
