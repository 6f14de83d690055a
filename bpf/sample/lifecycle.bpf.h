/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Births and deaths of threads: storage, membership, and the events that say so. */
#pragma once

#include "bpf/sample/counting.bpf.h"
#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/followed.bpf.h"
#include "bpf/sample/observed_clock.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/sample/recent.bpf.h"
#include "bpf/thread/clock.bpf.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/exiting.bpf.h"
#include "bpf/thread/filter.bpf.h"

static __always_inline struct profd_clock_event* begin_clock_event(struct task_struct* task,
                                                                   u16 kind, u64 now, u64 sessions,
                                                                   const struct thread* thread) {
  struct profd_clock_event* event = bpf_ringbuf_reserve(&ring_sched, sizeof(*event), 0);
  if (!event) {
    count(PROFD_COUNTER_EVENT_RING_FULL);
    return 0;
  }
  fill_event(&event->event, task, kind, now, sessions);
  event->event.size = sizeof(*event);
  event->begin_ns = thread->begin_ns;
  event->since_ns = thread->since_ns;
  event->state = thread->state;
  event->number = thread->samples;
  event->final = thread->clock;
  __builtin_memcpy(event->comm, task->comm, PROFD_COMM_LEN);
  event->own_tid = event->reserved = 0;
  if (constants.places) event->event.flags |= PROFD_CLOCK_MOVES;
  event->moves_final = thread->moves;
  return event;
}

/* The last word about a thread in some sessions: what its clock shows at `now`. */
static __noinline void send_thread_end(struct task_struct* task, const struct thread* thread,
                                       u64 now, u64 sessions) {
  struct profd_clock_event* event;
  if (!sessions) return;
  if (thread->quiet == LEFT_OUT)
    return count_many(PROFD_COUNTER_THREADS_BEYOND_SHARE_TIME, thread->clock.on_cpu_ns);
  event = begin_clock_event(task, PROFD_EVENT_THREAD_END, now, sessions, thread);
  if (!event) return;
  if (thread->begin_ns < thread->kept.time_ns) {
    event->epoch = thread->kept.number;
    event->epoch_ns = thread->kept.time_ns;
    event->at_epoch = thread->kept.clock;
    event->moves_at_epoch = thread->kept.moves;
  } else {
    event->epoch = 0;
    event->epoch_ns = 0;
    __builtin_memset(&event->at_epoch, 0, sizeof(event->at_epoch));
    __builtin_memset(&event->moves_at_epoch, 0, sizeof(event->moves_at_epoch));
  }
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}

/* Reserves a FORK, COMM or EXIT event; 0 when the ring is full. */
static __always_inline struct profd_task_event* begin_task_event(struct task_struct* task, u16 kind,
                                                                 u64 now, u64 sessions) {
  struct profd_task_event* event = bpf_ringbuf_reserve(&ring_sched, sizeof(*event), 0);
  if (!event) {
    count(PROFD_COUNTER_EVENT_RING_FULL);
    return 0;
  }
  fill_event(&event->event, task, kind, now, sessions);
  event->event.size = sizeof(*event);
  if (is_kernel_thread(task)) event->event.flags |= PROFD_TASK_KTHREAD;
  event->parent_pid = 0;
  event->parent_tid = 0;
  event->parent_process_start_ns = 0;
  __builtin_memcpy(event->comm, task->comm, PROFD_COMM_LEN);
  event->exit_code = 0;
  event->path_bytes = 0;
  return event;
}

static __always_inline void send_task_event(struct profd_task_event* event) {
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}

/*
 * Sessions that a child belongs to from its first instruction. Bits of starting sessions may be
 * stale in the parent, or not set yet while the iterator is under way: there its own ids, name,
 * cgroup and ancestors decide, which are the parent's.
 */
static __always_inline u64 sessions_of_child(struct task_struct* parent, struct task_struct* child,
                                             int new_process) {
  struct match_context context = {
      .task = child, .candidates = control.sessions, .new_process = new_process};
  struct thread* thread = find_thread(parent);
  if (thread) context.parents = thread->sessions & ~control.starting_sessions;
  return matching_sessions(&context);
}

static __always_inline void send_fork(struct task_struct* parent, struct task_struct* child,
                                      u64 now, u64 sessions, int new_process) {
  struct profd_task_event* event = begin_task_event(child, PROFD_EVENT_FORK, now, sessions);
  struct ids ids;
  if (!event) return;
  read_ids(parent, &ids);
  if (new_process) event->event.flags |= PROFD_TASK_NEW_PROCESS;
  event->parent_pid = ids.pid;
  event->parent_tid = ids.tid;
  event->parent_process_start_ns = BPF_CORE_READ(parent, group_leader, start_boottime);
  send_task_event(event);
}

static __always_inline void thread_forked(struct task_struct* child, int new_process) {
  struct task_struct* parent = bpf_get_current_task_btf();
  struct kernel_accounting accounting;
  u64 now = bpf_ktime_get_ns();
  struct thread* thread;
  u64 sessions;
  if (!child->pid) return; /* the idle thread of a CPU that comes online */
  thread = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!thread) {
    count(PROFD_COUNTER_STORAGE_FAILED);
    return;
  }
  sessions = sessions_of_child(parent, child, new_process);
  begin_counting(child, sessions);
  __sync_fetch_and_or(&thread->sessions, sessions);
  read_kernel_accounting(child, &accounting);
  if (sessions && !is_announced(parent, new_process, now)) thread->quiet = QUIET;
  clock_begin_created(thread, now, &accounting);
  if (sessions && !thread->quiet) send_fork(parent, child, now, sessions, new_process);
  if (sessions & control.visited_sessions) add_new_thread(child, now);
  if (cost_is_due(now)) add_cost(now);
}

#define PROGRAM_WAKES_APART_NS 50000000

/* A program that has just begun is looked at in /proc, which it may leave soon. */
static __always_inline u64 wakeup_for_program(u64 now) {
  if (now - words.program_wake_ns < PROGRAM_WAKES_APART_NS)
    return wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES);
  words.program_wake_ns = now; /* by several CPUs at a time: the reader is woken once more */
  return BPF_RB_FORCE_WAKEUP;
}

/* An exec event with room for the longest path. */
union exec_buffer {
  struct profd_task_event event;
  u64 words[(sizeof(struct profd_task_event) + PROFD_PATH_LEN) / sizeof(u64)];
};

/* The tid before the exec; only that of the initial pid namespace is known. */
static __always_inline u32 tid_before_exec(struct task_struct* task, u32 old_tid, u32 tid) {
  if (constants.pidns_level == 0) return old_tid;
  return old_tid == (u32)task->pid ? tid : 0;
}

static __noinline void send_exec(struct task_struct* task, u64 sessions, u32 old_tid,
                                 const char* path) {
  union exec_buffer buffer = {};
  struct profd_task_event* event = &buffer.event;
  u64 now = bpf_ktime_get_ns(), bytes;
  long length;
  fill_event(&event->event, task, PROFD_EVENT_EXEC, now, sessions);
  event->parent_tid = tid_before_exec(task, old_tid, event->event.tid);
  __builtin_memcpy(event->comm, task->comm, PROFD_COMM_LEN);
  length = bpf_probe_read_kernel_str(event->path, PROFD_PATH_LEN, path);
  if (length < 0 || length > PROFD_PATH_LEN) length = 0;
  event->path_bytes = length;
  bytes = sizeof(*event) + length;
  event->event.size = bytes;
  if (bpf_ringbuf_output(&ring_sched, event, bytes, wakeup_for_program(now)))
    count(PROFD_COUNTER_EVENT_RING_FULL);
}

static __always_inline void thread_execed(struct task_struct* task, u32 old_tid,
                                          struct linux_binprm* program) {
  struct thread* thread = find_thread(task);
  u64 sessions = thread ? thread->sessions & control.sessions : 0;
  if (thread) stop_following(thread, control.confined_sessions);
  if (!sessions) return;
  /* User space does not know this process. */
  if (thread->quiet == QUIET && old_tid == (u32)task->pid) return;
  if (may_report(task, thread)) send_exec(task, sessions, old_tid, program->filename);
}

static __always_inline void thread_freed(struct task_struct* task) {
  struct thread* thread = find_thread(task);
  u64 sessions = thread ? thread->sessions & control.sessions & control.observed_sessions : 0;
  if (sessions && thread->quiet != LEFT_OUT) send_freed_clock(task, sessions);
}

static __always_inline void thread_exited(struct task_struct* task) {
  struct thread* thread = find_thread(task);
  u64 sessions = thread ? thread->sessions & control.sessions : 0;
  int last = task->signal->live.counter == 0;
  u64 now = bpf_ktime_get_ns();
  struct profd_task_event* event;
  if (thread) begin_exit(thread);
  if (!sessions) return;
  if (thread->quiet && leave_out(task, thread, last)) {
    if (sessions & control.observed_sessions)
      count_many(PROFD_COUNTER_THREADS_BEYOND_SHARE_TIME, task->se.sum_exec_runtime);
    return;
  }
  event = begin_task_event(task, PROFD_EVENT_EXIT, now, sessions);
  if (!event) return;
  event->exit_code = task->exit_code;
  if (last) event->event.flags |= PROFD_TASK_LAST_THREAD;
  send_task_event(event);
  send_observed_clock(task, PROFD_EVENT_THREAD_END, PROFD_STATE_DEAD,
                      sessions & control.observed_sessions);
}
