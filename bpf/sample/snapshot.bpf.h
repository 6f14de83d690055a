/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Task iterators: making clocks and members, reading all clocks as of an epoch, and walking the
 * stacks of threads that do not run. Nothing is stopped: what moves meanwhile is read again or
 * left out.
 */
#pragma once

#include "bpf/sample/lifecycle.bpf.h"
#include "bpf/sample/switch.bpf.h"
#include "bpf/thread/clock.bpf.h"
#include "bpf/thread/exiting.bpf.h"
#include "bpf/thread/filter.bpf.h"
#include "bpf/thread/reading.bpf.h"

/* Begins the clock of a thread that is older than profd, or than the switch hooks; of one that is
 * blocked, with its wait. */
static __always_inline void adopt_thread(struct task_struct* task, struct thread* thread) {
  struct kernel_accounting accounting;
  u64 now = bpf_ktime_get_ns(), since_ns = now;
  u32 task_state = task->__state;
  u32 state = PROFD_STATE_ON_CPU, kind = 0;
  follow_run_queue_clock(now, own_run_queue_clock());
  read_kernel_accounting(task, &accounting);
  if (!is_running(task)) {
    state = task_state ? PROFD_STATE_BLOCKED : PROFD_STATE_RUNNABLE;
    kind = task_state ? blocked_kind(task, task_state) : PROFD_AFTER_WAKEUP;
  }
  if (state == PROFD_STATE_BLOCKED) since_ns = left_cpu_at(task, now);
  thread->task_state = task_state;
  clock_begin(thread, since_ns, state, kind, &accounting, task->thread_info.cpu);
}

/* Gives a thread its clock and its membership in the sessions that start. */
static __always_inline void assign_thread(struct task_struct* task) {
  u64 starting = control.starting_sessions;
  struct match_context context = {.task = task, .candidates = starting};
  int ends =
      READ_ANY_WIDTH(task, exit_state) != 0; /* it may still run, but will not be anyone's member */
  struct thread* thread =
      bpf_task_storage_get(&threads, task, 0, ends ? 0 : BPF_LOCAL_STORAGE_GET_F_CREATE);
  struct observed* observed;
  u64 matched = 0;
  if (!thread) {
    if (!ends) count(PROFD_COUNTER_STORAGE_FAILED);
    return;
  }
  note_run_queue(task);
  if (!ends && (!thread->begin_ns || thread->generation != (u32)control.clock_generation))
    adopt_thread(task, thread);
  if (!starting) return;
  __sync_fetch_and_and(&thread->followed, ~starting); /* of an earlier session */
  if (!ends) matched = matching_sessions(&context);
  observed =
      find_observed(task, matched & control.visited_sessions ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
  if (observed) observed->stack_sessions &= ~starting;
  if (matched & control.visited_sessions) {
    add_if_new(task, bpf_ktime_get_ns());
    if (observed && is_requested(matched)) begin_recent(task, observed, bpf_ktime_get_ns());
  }
  begin_counting(task, matched);
  __sync_fetch_and_and(&thread->sessions, matched | ~starting); /* bits may be left from before */
  __sync_fetch_and_or(&thread->sessions, matched);
  __sync_fetch_and_and(&thread->sessions, ~foreign_sessions(task, matched));
}

/*
 * A free one of the values of a map, which begin with `busy`: release_buffer gives it back. 0: none
 * is free.
 */
static __always_inline void* take_buffer(void* buffers, u32 entries) {
  for (u32 i = 0; i < entries; i++) {
    u32 key = i;
    u64* busy = bpf_map_lookup_elem(buffers, &key);
    if (busy && !__sync_val_compare_and_swap(busy, 0, 1)) return busy;
  }
  count(PROFD_COUNTER_SCRATCH_BUSY);
  return 0;
}

static __always_inline void release_buffer(void* buffer) {
  barrier();
  *(u64*)buffer = 0;
}

/* Writes what the thread's clock showed at the present epoch. */
static __always_inline void write_clock(struct seq_file* out, struct task_struct* task,
                                        struct thread* thread, u64 sessions,
                                        struct reader* reader) {
  struct thread* copy = &reader->copy;
  struct profd_clock_event* event;
  if (!read_thread(task, thread, copy)) return;
  /* The thread began after the epoch, or ended meanwhile: then its end was reported. */
  if (copy->begin_ns >= control.epoch_ns || copy->kept.number != (u32)control.epoch ||
      copy->state == PROFD_STATE_DEAD || !may_report(task, thread))
    return;
  event = (struct profd_clock_event*)reader->sample.words;
  fill_event(&event->event, task, PROFD_EVENT_CLOCK, copy->kept.time_ns, sessions);
  event->event.size = sizeof(*event);
  event->epoch = copy->kept.number;
  event->epoch_ns = copy->kept.time_ns;
  event->begin_ns = copy->begin_ns;
  event->since_ns = copy->kept.since_ns;
  event->state = copy->kept_state;
  event->number = copy->samples;
  event->at_epoch = copy->kept.clock;
  event->final = copy->kept.clock;
  __builtin_memcpy(event->comm, task->comm, PROFD_COMM_LEN);
  event->own_tid = own_tid(task);
  event->reserved = 0;
  event->event.flags = constants.places ? PROFD_CLOCK_MOVES : 0;
  event->moves_at_epoch = copy->kept.moves;
  event->moves_final = copy->kept.moves;
  bpf_seq_write(out, event, sizeof(*event));
}

/* The same, if the thread is a member of a session. */
static __always_inline void read_clock(struct seq_file* out, struct task_struct* task) {
  struct thread* thread = find_thread(task);
  u64 sessions = thread ? thread->sessions & control.sessions : 0;
  u64 observed = sessions & control.observed_sessions;
  struct reader* reader;
  sessions &= ~observed;
  if (thread) end_exit(thread);
  if (!thread || (!sessions && !observed)) return;
  reader = take_buffer(&readers, READERS);
  if (!reader) return;
  if (sessions && thread->state != PROFD_STATE_DEAD) {
    write_clock(out, task, thread, sessions, reader);
    if (sessions & control.pmu_sessions) write_sums(out, task, sessions, reader);
  }
  if (observed) write_observed_clock(out, task, thread, observed, reader);
  release_buffer(reader);
}

static __always_inline u64 moves_of(const struct task_struct* task, const struct thread* thread,
                                    int by_kernel) {
  return by_kernel ? switches_of(task) << 1 : *(volatile const u32*)&thread->sequence;
}

/* Where no hook keeps the thread's clock: by what the kernel says. */
static __noinline void read_from_kernel(struct task_struct* task, struct present* present) {
  u64 now = bpf_ktime_get_ns();
  u32 task_state = task->__state;
  /* The end of one that exits has been reported. */
  u32 state = task->flags & PF_EXITING ? PROFD_STATE_DEAD : present_state(task);
  present->state = state;
  present->task_state = task_state;
  present->kind = PROFD_AFTER_WAKEUP;
  present->since_ns = now - on_cpu_for(task, now);
  if (state == PROFD_STATE_RUNNABLE) {
    present->since_ns = now - smaller(now, wait_not_summed(task, now));
  } else if (state == PROFD_STATE_BLOCKED) {
    present->since_ns = left_cpu_at(task, now);
    present->kind = blocked_kind(task, task_state);
  }
}

static __always_inline void read_present(struct task_struct* task, const struct thread* thread,
                                         int by_kernel, struct present* present) {
  present->by_kernel = by_kernel;
  present->moves = moves_of(task, thread, by_kernel);
  barrier();
  if (by_kernel) return read_from_kernel(task, present);
  present->since_ns = thread->since_ns;
  present->state = thread->state;
  present->kind = thread->kind;
  present->task_state = thread->task_state;
}

static __always_inline int has_left(struct task_struct* task, const struct thread* thread,
                                    const struct present* present) {
  barrier();
  return present->moves != moves_of(task, thread, present->by_kernel) ||
         (present->by_kernel && present->state != present_state(task));
}

/* How a thread stands that is not to be sampled by itself: flags of a SNAPSHOT. */
static __always_inline u16 present_state_flags(struct task_struct* task,
                                               const struct present* present) {
  if (present->state == PROFD_STATE_ON_CPU || is_running(task)) return PROFD_SAMPLE_RUNNING;
  if (present->state == PROFD_STATE_RUNNABLE)
    return present->kind == PROFD_AFTER_YIELD ? PROFD_SAMPLE_YIELDED : PROFD_SAMPLE_PREEMPTED;
  return (task->__state ? 0 : PROFD_SAMPLE_WOKEN) |
         (present->kind == PROFD_IOWAIT ? PROFD_SAMPLE_IOWAIT : 0);
}

/* Whether the snapshot has a thread: it is blocked since a time within the limits, or dumped. */
static __always_inline int is_wanted(const struct present* present, u64 dumping) {
  if (dumping) return present->state != PROFD_STATE_DEAD;
  return present->state == PROFD_STATE_BLOCKED && present->since_ns >= control.snapshot_since_ns &&
         present->since_ns < control.snapshot_before_ns;
}

/* Global functions: the verifier checks their loops once. */
__noinline int is_unreadable(u32 pid) {
  for (int i = 0; i < PROFD_MAX_UNREADABLE && control.unreadable_pids[i]; i++)
    if (control.unreadable_pids[i] == pid) return 1;
  return 0;
}
__noinline int is_unreadable_user(u32 user) {
  for (int i = 0; i < PROFD_MAX_UNREADABLE_USERS && control.unreadable_users[i]; i++)
    if (control.unreadable_users[i] == user) return 1;
  return 0;
}

/* Whether the memory of this process may be read: it answered, and that of other processes of its
 * user, as far as is known. */
static __noinline int may_read_memory(struct task_struct* task) {
  u32 reads = control.reads, user;
  if (reads == PROFD_READS_NONE || is_unreadable(task->tgid)) return 0;
  if (reads == PROFD_READS_ALL && !control.unreadable_users[0]) return 1;
  user = user_of(task);
  if (reads == PROFD_READS_OF_ROOT && user) return 0;
  return !is_unreadable_user(user);
}

/* Of a thread that waits for a futex: the word, and what is the owner if it is that of a mutex. In
 * glibc the owner stands 8 bytes behind it. */
static __always_inline void read_futex(struct profd_sample_event* event, struct task_struct* task) {
  u64 address = event->syscall_args[0];
  u32 word = 0, owner = 0;
  if (!waits_for_futex(event) || (address & 3)) return;
  if (!bpf_copy_from_user_task(&word, sizeof(word), (void*)address, task, 0))
    event->futex_word = word;
  if (!bpf_copy_from_user_task(&owner, sizeof(owner), (void*)(address + 8), task, 0))
    event->futex_owner = owner;
}

/* What a member's memory says: its stack, or of a running one whether it holds the GIL. While that
 * is read user space can see whose memory it is, for the case that the reading never ends. */
static __always_inline void read_member(struct profd_sample_event* event, struct walk* walk,
                                        struct task_struct* task, int running) {
  control.reads_pid = task->tgid;
  if (running) {
    empty_stack_block(walk);
    note_python(event, walk, task);
  } else {
    take_user_stack(event, walk, task);
    read_futex(event, task);
  }
  control.reads_pid = 0;
}

/* Writes how a member stands, with its stack where it is not running. */
static __always_inline void write_stack(struct seq_file* out, struct task_struct* task,
                                        struct thread* thread, u64 sessions,
                                        struct reader* reader) {
  const struct present* present = &reader->present;
  struct profd_sample_event* event = &reader->sample.event;
  u64 dumping = sessions & control.dump_sessions;
  u16 flags;
  begin_sample(event, task, PROFD_EVENT_SNAPSHOT, bpf_ktime_get_ns(), sessions);
  event->begin_ns = present->since_ns;
  event->task_state = present->task_state;
  flags = dumping ? present_state_flags(task, present)
                  : (present->kind == PROFD_IOWAIT ? PROFD_SAMPLE_IOWAIT : 0);
  event->event.flags |= flags;
  if (flags & PROFD_SAMPLE_RUNNING)
    event->stack_flags = PROFD_STACK_KERNEL_FAILED | PROFD_STACK_NO_USER;
  else
    keep_kernel_stack(event, bpf_get_task_stack(task, event->frames, KERNEL_STACK_BYTES, 0));
  if (may_read_memory(task))
    read_member(event, &reader->walk, task, flags & PROFD_SAMPLE_RUNNING);
  else if (!(flags & PROFD_SAMPLE_RUNNING))
    event->stack_flags |= PROFD_STACK_USER_FAULT;
  if (has_left(task, thread, present)) return;
  bpf_seq_write(out, event, finish_sample(&reader->sample));
}

/* The same, if the member is one that the snapshot is about. */
static __always_inline void snapshot_stack(struct seq_file* out, struct task_struct* task) {
  struct thread* thread = find_thread(task);
  u64 sessions = thread ? thread->sessions & control.snapshot_sessions : 0;
  u64 dumping = sessions & control.dump_sessions;
  struct reader* reader;
  if (!sessions) return;
  if (thread->quiet == QUIET || thread->quiet == LEFT_OUT) return; /* the clocks were read before */
  reader = take_buffer(&readers, READERS);
  if (!reader) return;
  read_present(task, thread, (dumping & control.observed_sessions) != 0, &reader->present);
  if (!(reader->present.moves & 1) && is_wanted(&reader->present, dumping))
    write_stack(out, task, thread, sessions, reader);
  release_buffer(reader);
}
