/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reading the clock of any thread, running or not, without stopping it. */
#pragma once

#include "bpf/thread/clock_reading.bpf.h"
#include "bpf/thread/task.bpf.h"

#define READ_TRIES 4

static __always_inline int is_running(const struct task_struct* task) {
  return bpf_core_field_exists(task->on_cpu) && READ_ANY_WIDTH(task, on_cpu);
}

/* Since when a thread waits for a CPU, in CLOCK_MONOTONIC; 0: it does not. */
static __always_inline u64 waits_since(struct task_struct* task, struct thread* thread, u64 now) {
  struct switch_state* state = this_switch();
  u64 queued = bpf_core_field_exists(task->sched_info) ? task->sched_info.last_queued : 0;
  if (!queued || !state) return 0;
  if (thread->read_queued != queued) {
    thread->read_queued_ns = queued_since(&state->offset, now, queued);
    thread->read_queued = queued;
  }
  return thread->read_queued_ns;
}

/* A copy of a thread's storage and what belongs to it; 0: it switched at that moment. */
static __always_inline int copy_thread(struct task_struct* task, struct thread* thread, u64 now,
                                       struct thread* copy, struct kernel_accounting* accounting,
                                       struct present_state* present) {
  u32 sequence = *(volatile const u32*)&thread->sequence;
  barrier();
  *copy = *thread;
  read_kernel_accounting(task, accounting);
  present->queued_ns = waits_since(task, thread, now);
  present->running = is_running(task);
  barrier();
  return !(sequence & 1) && sequence == *(volatile const u32*)&thread->sequence;
}

/* The same, brought up to now; 0: it switched during every try. */
static __always_inline int read_thread(struct task_struct* task, struct thread* thread,
                                       struct thread* copy) {
  struct kernel_accounting accounting;
  struct present_state present;
  for (int i = 0; i < READ_TRIES; i++) {
    u64 now = bpf_ktime_get_ns();
    if (!copy_thread(task, thread, now, copy, &accounting, &present)) continue;
    clock_advance(copy, now, &accounting, &present);
    return 1;
  }
  count(PROFD_COUNTER_TORN_READ);
  return 0;
}
