/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Clock events of sessions in snapshot mode: by readings at epochs, and where a thread ends. */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/thread/kernel_sums.bpf.h"

/* The totals before the next reading. A thread that was not read yet began with zeros. */
static __always_inline void copy_totals(const struct observed* observed,
                                        struct kernel_totals* totals) {
  if (observed)
    *totals = observed->totals[observed->current & 1];
  else
    __builtin_memset(totals, 0, sizeof(*totals));
}

static __always_inline void keep_totals(struct observed* observed,
                                        const struct kernel_totals* totals) {
  u32 next = ~observed->current & 1;
  observed->totals[next] = *totals;
  barrier();
  observed->current = next;
  observed->epoch_ns = control.epoch_ns;
  observed->epoch = control.epoch;
}

static __always_inline void fill_observed_clock(struct profd_clock_event* event,
                                                struct task_struct* task,
                                                const struct observed* observed, u32 state) {
  event->event.flags = PROFD_CLOCK_OBSERVED;
  event->event.size = sizeof(*event);
  event->begin_ns = task->start_time;
  event->held_ns = observed ? observed->held_ns : 0;
  event->stack_number = observed ? observed->stack_number : 0;
  event->state = state;
  __builtin_memcpy(event->comm, task->comm, PROFD_COMM_LEN);
}

/* Writes what the thread's clock shows at the present epoch, from a task iterator. */
static __always_inline void write_observed_clock(struct seq_file* out, struct task_struct* task,
                                                 struct thread* thread, u64 sessions,
                                                 struct reader* reader) {
  struct profd_clock_event* event = (struct profd_clock_event*)reader->sample.words;
  struct observed* observed;
  struct kernel_totals totals;
  struct kernel_sums sums;
  u64 epoch_ns = control.epoch_ns;
  /* It began after the epoch, or its end has been reported. */
  if (task->start_time >= epoch_ns || (task->flags & PF_EXITING) || !may_report(task, thread))
    return;
  observed = find_observed(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!observed) {
    count(PROFD_COUNTER_STORAGE_FAILED);
    return;
  }
  read_kernel_sums(task, bpf_ktime_get_ns(), &sums);
  copy_totals(observed, &totals);
  if (observed->epoch != (u32)control.epoch) {
    advance_totals(&totals, task->start_time, epoch_ns, &sums);
    keep_totals(observed, &totals);
  }
  fill_event(&event->event, task, PROFD_EVENT_CLOCK, epoch_ns, sessions);
  fill_observed_clock(event, task, observed, sums.state);
  event->epoch = (u32)control.epoch;
  event->epoch_ns = epoch_ns;
  fill_clock(&event->at_epoch, &totals, &sums);
  event->final = event->at_epoch;
  bpf_seq_write(out, event, sizeof(*event));
}

/* What the thread's clock showed at the last epoch; it may have passed without a reading. */
static __always_inline void fill_at_epoch(struct profd_clock_event* event, struct task_struct* task,
                                          struct observed* observed, u64 now,
                                          struct kernel_totals* totals,
                                          const struct kernel_sums* sums) {
  u64 epoch_ns = control.epoch_ns;
  event->epoch = 0;
  event->epoch_ns = 0;
  if (epoch_ns <= now && task->start_time < epoch_ns) {
    event->epoch = (u32)control.epoch;
    event->epoch_ns = epoch_ns;
    if (!observed || observed->epoch != (u32)control.epoch)
      advance_totals(totals, task->start_time, epoch_ns, sums);
  } else if (observed && observed->epoch) {
    event->epoch = observed->epoch;
    event->epoch_ns = observed->epoch_ns;
  }
  if (event->epoch)
    fill_clock(&event->at_epoch, totals, sums);
  else
    __builtin_memset(&event->at_epoch, 0, sizeof(event->at_epoch));
}

/* The last word about the current thread, which ends. */
static __noinline void send_observed_end(struct task_struct* task, u64 now, u64 sessions) {
  struct observed* observed = find_observed(task, 0);
  struct profd_clock_event* event;
  struct kernel_totals totals;
  struct kernel_sums sums;
  event = bpf_ringbuf_reserve(&ring_sched, sizeof(*event), 0);
  if (!event) {
    count(PROFD_COUNTER_EVENT_RING_FULL);
    return;
  }
  read_kernel_sums(task, now, &sums);
  copy_totals(observed, &totals);
  fill_event(&event->event, task, PROFD_EVENT_THREAD_END, now, sessions);
  fill_observed_clock(event, task, observed, PROFD_STATE_DEAD);
  fill_at_epoch(event, task, observed, now, &totals, &sums);
  advance_totals(&totals, task->start_time, now, &sums);
  fill_clock(&event->final, &totals, &sums);
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}
