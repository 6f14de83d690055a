/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Threads that join or leave sessions while these run. The clock goes on as it is; two events cut
 * out what belongs to the session: CLOCK at the joining, THREAD_END at the leaving.
 */
#pragma once

#include "bpf/sample/lifecycle.bpf.h"
#include "bpf/thread/filter.bpf.h"
#include "bpf/thread/reading.bpf.h"

/* The clock as of now, under the number of the present epoch. */
static __always_inline void send_joining(struct task_struct* task, const struct thread* copy,
                                         u64 now, u64 sessions) {
  struct profd_clock_event* event;
  if (!sessions) return;
  event = begin_clock_event(task, PROFD_EVENT_CLOCK, now, sessions, copy);
  if (!event) return;
  event->epoch = control.epoch;
  event->epoch_ns = now;
  event->at_epoch = copy->clock;
  event->moves_at_epoch = copy->moves;
  bpf_ringbuf_submit(event, wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES));
}

/* Puts a revision into force; returns the sessions that the thread has joined. */
static __always_inline u64 apply_revision(struct task_struct* task, struct thread* thread,
                                          const struct revision* revision,
                                          enum reevaluating_program program) {
  u64 joined = revision->matched & ~thread->sessions;
  u64 left = thread->sessions & revision->decided & ~revision->matched;
  u64 observed = control.observed_sessions;
  struct thread* copy;
  u32 index = program;
  if (!joined && !left) return 0;
  copy = bpf_map_lookup_elem(&membership_copy, &index);
  if (!copy || !read_thread(task, thread, copy)) return 0;
  __sync_fetch_and_or(&thread->sessions, joined);
  __sync_fetch_and_and(&thread->sessions, ~(left | foreign_sessions(task, joined)));
  joined &= thread->sessions;
  if (!may_report(task, thread)) return 0;
  send_thread_end(task, copy, copy->since_ns, left & ~observed);
  send_observed_clock(task, PROFD_EVENT_THREAD_END, 0, left & observed);
  if (left & control.pmu_sessions) send_last_sums(task, copy->since_ns, left);
  send_joining(task, copy, copy->since_ns, joined & ~observed);
  if (joined & control.pmu_sessions) send_first_sums(task, copy->since_ns, joined);
  send_observed_clock(task, PROFD_EVENT_CLOCK, 0, joined & observed);
  return joined;
}

/* Says the name, which may be news to the sessions that the thread has joined just now. */
static __always_inline void send_name(struct task_struct* task, const struct thread* thread,
                                      const char* name) {
  u64 sessions = thread->sessions & control.sessions;
  u64 now = bpf_ktime_get_ns();
  struct profd_task_event* event;
  if (!sessions || thread->quiet == QUIET) return;
  if (!take_share(PROFD_SHARE_NAMES, event_pid(task), now, PROFD_NAMES_PER_SECOND,
                  PROFD_NAMES_AT_ONCE))
    return count(PROFD_COUNTER_NAMES_BEYOND_SHARE);
  event = begin_task_event(task, PROFD_EVENT_COMM, now, sessions);
  if (!event) return;
  if (name) __builtin_memcpy(event->comm, name, PROFD_COMM_LEN);
  send_task_event(event);
}

/* The name is not in task->comm yet. */
static __always_inline void thread_renamed(struct task_struct* task, const char* new_name) {
  u64 candidates = control.sessions & ~control.starting_sessions;
  struct thread* thread = find_thread(task);
  char name[PROFD_COMM_LEN] = {};
  struct revision revision = {.task = task, .name = name, .candidates = candidates};
  if (!thread || !control.sessions) return;
  bpf_probe_read_kernel_str(name, sizeof(name), new_name);
  reevaluate_sessions(&revision);
  apply_revision(task, thread, &revision, REEVALUATED_BY_HOOK);
  send_name(task, thread, name);
}

static __always_inline void thread_moved(struct task_struct* task,
                                         enum reevaluating_program program) {
  u64 candidates = control.sessions & ~control.starting_sessions;
  struct thread* thread = find_thread(task);
  struct revision revision = {.task = task, .candidates = candidates};
  if (!thread || !candidates) return;
  reevaluate_sessions(&revision);
  if (apply_revision(task, thread, &revision, program)) send_name(task, thread, 0);
}

/*
 * An executed program may give its thread to another user. By now the thread has its new user and
 * name, so sessions of one user lose it or get it. This is a function of its own, because send_exec
 * leaves no stack for it.
 */
static __noinline void reevaluate_owner(struct task_struct* task) {
  u64 confined = control.confined_sessions & control.sessions;
  u64 starting = confined & control.starting_sessions;
  struct thread* thread = find_thread(task);
  struct match_context context = {.task = task, .candidates = confined};
  struct revision revision = {.task = task, .decided = confined & ~starting};
  if (!thread || !confined) return;
  context.parents = thread->sessions & ~starting;
  revision.matched = matching_sessions(&context);
  /* No events of these sessions have been sent, so their bits change without an event. */
  __sync_fetch_and_and(&thread->sessions, revision.matched | ~starting);
  __sync_fetch_and_or(&thread->sessions, revision.matched & starting);
  revision.matched &= ~starting;
  if (apply_revision(task, thread, &revision, REEVALUATED_BY_EXEC)) send_name(task, thread, 0);
}
