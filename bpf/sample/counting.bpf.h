/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Where hardware counters are read for members of sessions with counters, and how their sums are
 * sent. */
#pragma once

#include "bpf/sample/emit.bpf.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/filter.bpf.h"
#include "bpf/thread/pmu.bpf.h"

/* A function of its own in each object that calls it. */
#define SEPARATE static __noinline __attribute__((unused))

/* Gives a member its sums; of one that has them they stay as they are. */
static __always_inline void begin_counting(struct task_struct* task, u64 sessions) {
  if ((sessions & control.pmu_sessions) &&
      !bpf_task_storage_get(&pmu_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
    count(PROFD_COUNTER_STORAGE_FAILED);
}

static __always_inline struct pmu_thread* find_sums(struct task_struct* task) {
  return bpf_task_storage_get(&pmu_threads, task, 0, 0);
}

/* A member comes, or goes on behind a sample. */
SEPARATE void counted_comes(struct task_struct* task) { open_span(this_pmu(), address_of(task)); }

/* A member leaves. */
SEPARATE void counted_leaves(struct task_struct* task) {
  close_span(this_pmu(), find_sums(task), address_of(task), 0);
}

/* A member is sampled: what was counted for it since the last reading is also the sample's. */
SEPARATE void counted_sampled(struct task_struct* task, struct sample_buffer* sample) {
  if (close_span(this_pmu(), find_sums(task), address_of(task), &sample->counts))
    sample->event.event.flags |= PROFD_SAMPLE_COUNTED;
}

static __always_inline struct profd_pmu_event* begin_pmu_event(struct task_struct* task, u64 now,
                                                               u64 sessions) {
  struct profd_pmu_event* event = bpf_ringbuf_reserve(&ring_sched, sizeof(*event), 0);
  if (!event) {
    count(PROFD_COUNTER_EVENT_RING_FULL);
    return 0;
  }
  fill_event(&event->event, task, PROFD_EVENT_PMU, now, sessions);
  event->event.size = sizeof(*event);
  return event;
}

/* The last sums of a thread, behind its THREAD_END. */
SEPARATE void send_last_sums(struct task_struct* task, u64 now, u64 sessions) {
  struct pmu_thread* thread = find_sums(task);
  struct profd_pmu_event* event;
  sessions &= control.pmu_sessions;
  if (!sessions || !thread) return;
  event = begin_pmu_event(task, now, sessions);
  if (!event) return;
  event->event.flags = PROFD_PMU_END;
  event->epoch = thread->kept_number;
  event->epoch_ns = thread->kept_ns;
  event->at_epoch = thread->kept;
  event->final = thread->sums;
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}

/* The sums of a thread that joins sessions, behind its CLOCK: these begin with them. */
SEPARATE void send_first_sums(struct task_struct* task, u64 now, u64 sessions) {
  struct pmu_thread* thread;
  struct profd_pmu_event* event;
  sessions &= control.pmu_sessions;
  if (!sessions) return;
  begin_counting(task, sessions);
  thread = find_sums(task);
  if (!thread) return;
  event = begin_pmu_event(task, now, sessions);
  if (!event) return;
  event->event.flags = 0;
  event->epoch = control.epoch;
  event->epoch_ns = now;
  event->at_epoch = event->final = thread->sums;
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}

/* Writes the sums of a thread as of the present epoch. */
static __always_inline void write_sums(struct seq_file* out, struct task_struct* task, u64 sessions,
                                       struct reader* reader) {
  struct profd_pmu_event* event = (struct profd_pmu_event*)reader->sample.words;
  struct pmu_thread* thread = find_sums(task);
  if (!thread || !read_sums(thread, event)) return;
  fill_event(&event->event, task, PROFD_EVENT_PMU, control.epoch_ns, sessions);
  event->event.size = sizeof(*event);
  event->event.flags = 0;
  event->epoch = control.epoch;
  event->epoch_ns = control.epoch_ns;
  bpf_seq_write(out, event, sizeof(*event));
}
