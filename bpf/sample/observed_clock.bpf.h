/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Clock events of sessions in snapshot mode: by readings at epochs, where a thread joins or leaves
 * a session, and where it ends.
 */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/thread/kernel_sums.bpf.h"

/* Brings the totals up to `now`, and first those of the epoch, if it has passed since. */
static __always_inline void update_totals(struct task_struct* task, struct observed* observed,
                                          u64 now, const struct kernel_sums* sums) {
  u64 begin_ns = task->start_time, epoch_ns = control.epoch_ns;
  if (observed->epoch != (u32)control.epoch && epoch_ns <= now) {
    advance_totals(&observed->totals, begin_ns, epoch_ns, sums);
    observed->at_epoch = observed->totals;
    observed->epoch_ns = epoch_ns;
    observed->epoch = control.epoch;
  }
  advance_totals(&observed->totals, begin_ns, now, sums);
  end_reading(&observed->totals, sums);
}

#define UPDATE_TRIES 64

/* 0: after a while another reading of the thread still goes on. A global function: as above. */
__noinline int begin_update(struct observed* observed) {
  if (!observed) return 0;
  for (int i = 0; i < UPDATE_TRIES; i++)
    if (!__sync_val_compare_and_swap(&observed->busy, 0, 1)) return 1;
  return 0;
}

static __always_inline void end_update(struct observed* observed) {
  barrier();
  observed->busy = 0;
}

static __always_inline void fill_observed_clock(struct profd_clock_event* event,
                                                struct task_struct* task,
                                                const struct observed* observed) {
  event->event.flags = PROFD_CLOCK_OBSERVED;
  event->event.size = sizeof(*event);
  event->begin_ns = task->start_time;
  event->held_ns = observed->held_ns;
  event->stack_number = observed->stack_number;
  __builtin_memcpy(event->comm, task->comm, PROFD_COMM_LEN);
  event->own_tid = event->reserved = 0;
  /* The kernel counts migrations, and not how far they lead. */
  __builtin_memset(&event->moves_at_epoch, 0, sizeof(event->moves_at_epoch));
  __builtin_memset(&event->moves_final, 0, sizeof(event->moves_final));
}

static __always_inline void write_totals(struct seq_file* out, struct task_struct* task,
                                         struct observed* observed, u64 sessions,
                                         struct reader* reader) {
  struct profd_clock_event* event = (struct profd_clock_event*)reader->sample.words;
  u64 now = bpf_ktime_get_ns();
  struct kernel_sums sums;
  read_kernel_sums(task, now, &sums);
  update_totals(task, observed, now, &sums);
  fill_event(&event->event, task, PROFD_EVENT_CLOCK, observed->epoch_ns, sessions);
  fill_observed_clock(event, task, observed);
  event->state = sums.state;
  event->epoch = observed->epoch;
  event->epoch_ns = observed->epoch_ns;
  fill_clock(&event->at_epoch, &observed->at_epoch, &sums);
  event->final = event->at_epoch;
  event->own_tid = own_tid(task);
  bpf_seq_write(out, event, sizeof(*event));
  count(PROFD_COUNTER_CLOCKS_BY_KERNEL_ACCOUNTING);
}

/* Writes what the thread's clock shows at the present epoch, from a task iterator. */
static __always_inline void write_observed_clock(struct seq_file* out, struct task_struct* task,
                                                 struct thread* thread, u64 sessions,
                                                 struct reader* reader) {
  struct observed* observed;
  /* It began after the epoch, or its end has been reported. */
  if (task->start_time >= control.epoch_ns || (task->flags & PF_EXITING) ||
      !may_report(task, thread))
    return;
  observed = find_observed(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!observed) return count(PROFD_COUNTER_STORAGE_FAILED);
  if (!begin_update(observed)) return count(PROFD_COUNTER_TORN_READ);
  write_totals(out, task, observed, sessions, reader);
  end_update(observed);
}

static __always_inline void fill_last_epoch(struct profd_clock_event* event,
                                            const struct observed* observed, u64 begin_ns,
                                            const struct kernel_sums* sums) {
  if (begin_ns < observed->epoch_ns) {
    event->epoch = observed->epoch;
    event->epoch_ns = observed->epoch_ns;
    fill_clock(&event->at_epoch, &observed->at_epoch, sums);
  } else {
    event->epoch = event->epoch_ns = 0;
    __builtin_memset(&event->at_epoch, 0, sizeof(event->at_epoch));
  }
}

static __always_inline struct profd_clock_event* reserve_clock(void) {
  struct profd_clock_event* event = bpf_ringbuf_reserve(&ring_sched, sizeof(*event), 0);
  if (!event) count(PROFD_COUNTER_EVENT_RING_FULL);
  return event;
}

/*
 * A thread joins sessions (CLOCK, under the number of the present epoch), leaves them, or ends
 * (THREAD_END, with its `state`).
 */
static __noinline void send_observed_clock(struct task_struct* task, u16 kind, u32 state,
                                           u64 sessions) {
  u64 now = bpf_ktime_get_ns();
  struct observed* observed;
  struct profd_clock_event* event;
  struct kernel_sums sums;
  int updating;
  if (!sessions) return;
  observed = find_observed(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!observed) return count(PROFD_COUNTER_STORAGE_FAILED);
  event = reserve_clock();
  if (!event) return;
  updating = begin_update(observed);
  read_kernel_sums(task, now, &sums);
  update_totals(task, observed, now, &sums);
  fill_event(&event->event, task, kind, now, sessions);
  fill_observed_clock(event, task, observed);
  event->state = state == PROFD_STATE_DEAD ? state : sums.state;
  fill_clock(&event->final, &observed->totals, &sums);
  if (kind == PROFD_EVENT_CLOCK) {
    event->epoch = control.epoch;
    event->epoch_ns = now;
    event->at_epoch = event->final;
  } else {
    fill_last_epoch(event, observed, task->start_time, &sums);
  }
  if (state == PROFD_STATE_DEAD) {
    observed->end_pid = event->event.pid;
    observed->end_tid = event->event.tid;
    observed->end_process_start_ns = event->event.process_start_ns;
  }
  if (updating) end_update(observed);
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}

/*
 * The kernel frees a thread, after its parent has asked for it. After its end was reported it has
 * given its memory back, which may take long: that time it ran or waited for a CPU. So its end is
 * reported once more, and lies as much later as its sums have grown.
 */
static __noinline void send_freed_clock(struct task_struct* task, u64 sessions) {
  struct observed* observed = find_observed(task, 0);
  struct profd_clock_event* event;
  struct kernel_totals totals;
  struct kernel_sums sums;
  if (!observed || !observed->end_pid) return;
  event = reserve_clock();
  if (!event) return;
  read_kernel_sums(task, 0, &sums);
  totals = observed->totals;
  totals.on_cpu_ns += above(sums.on_cpu_ns, totals.on_cpu_ns);
  totals.runnable_ns += above(sums.runnable_ns, totals.runnable_ns);
  fill_event(&event->event, task, PROFD_EVENT_THREAD_END, bpf_ktime_get_ns(), sessions);
  event->event.pid = observed->end_pid;
  event->event.tid = observed->end_tid;
  event->event.process_start_ns = observed->end_process_start_ns;
  fill_observed_clock(event, task, observed);
  event->event.flags |= PROFD_CLOCK_FREED;
  event->state = PROFD_STATE_DEAD;
  fill_clock(&event->final, &totals, &sums);
  fill_last_epoch(event, observed, task->start_time, &sums);
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}
