/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Observers: one pass over the threads of sessions in snapshot mode (bpf/shared/observer.h). Who
 * has not moved since the last visit is still in the wait whose stack was read then, and that stack
 * represents this point, too: some 30 ns for each thread. The stacks of the others are read, by the
 * program `observe` in a second part of the pass (pass.bpf.h). State, user registers and both
 * stacks of a thread are read in one go, and are checked to be of one wait.
 */
#pragma once

#include "bpf/sample/observed_clock.bpf.h"
#include "bpf/sample/recent.bpf.h"
#include "bpf/sample/snapshot.bpf.h"

/* Stacks that lack unwind tables are read again at the next visits, but not for ever. */
#define MAX_REREADS 4

static __always_inline u64 observed_sessions_of(const struct thread* thread) {
  return thread->sessions & control.sessions & control.visited_sessions;
}

/* A thread on the observer's own CPU is displaced by it. */
static __always_inline int is_of_stream(const struct task_struct* task,
                                        const struct profd_pass* pass) {
  int there = task->thread_info.cpu == pass->cpu;
  return pass->stream ? there : !there;
}

static __always_inline u32 stack_state_of(u32 state) {
  return state == PROFD_STATE_ON_CPU     ? STACK_RUNNING
         : state == PROFD_STATE_RUNNABLE ? STACK_RUNNABLE
                                         : STACK_BLOCKED;
}

/* Visits one thread; returns what the visit represents if its stack must be read, else 0. */
static __always_inline u64 visit_thread(struct task_struct* task, const struct profd_pass* pass,
                                        int* recent) {
  struct thread* thread = find_thread(task);
  struct observed* observed;
  u64 weight;
  if (!thread || !observed_sessions_of(thread) || !is_of_stream(task, pass)) return 0;
  observed = find_observed(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
  if (!observed || observed->visited_ns == pass->point_ns) return 0;
  *recent = is_recent(task, observed, pass->stream, pass->long_period);
  weight = *recent ? pass->weight_ns : pass->long_weight_ns;
  if (!weight) return 0;
  observed->visited_ns = pass->point_ns;
  count(PROFD_COUNTER_VISITS);
  if ((observed_sessions_of(thread) & control.first_sessions & ~observed->stack_sessions) ||
      observed->switches != switches_of(task) ||
      observed->stack_state != stack_state_of(present_state(task)))
    return weight;
  if (observed->stack_state != STACK_RUNNING) observed->held_ns += weight;
  return 0;
}

/* What separates two waits in one system call with equal arguments, such as sleeps that two
 * functions request. */
static __always_inline u32 hash_registers(const struct walk* walk) {
  const u64* value = walk->registers.value;
  u64 hash = (walk->user_pc ^ value[REGISTER_RSP]) * 0x9E3779B97F4A7C15ull;
  hash = (hash ^ value[REGISTER_RBP]) * 0x9E3779B97F4A7C15ull;
  hash = (hash ^ value[REGISTER_RBX]) * 0x9E3779B97F4A7C15ull;
  return hash >> 32;
}

/* The thread has moved before its registers were read: they may be those of any moment since. */
static __always_inline void forget_place(struct profd_sample_event* event, struct walk* walk) {
  event->syscall = -1;
  event->syscall_args[0] = event->syscall_args[1] = event->syscall_args[2] = 0;
  event->registers = 0;
  walk->user_pc = 0;
}

/* The thread has moved: of its stack the user's program counter is left, if that is known. */
static __always_inline void keep_program_counter(struct profd_sample_event* event,
                                                 const struct walk* walk) {
  u64 pc = event->stack_flags & PROFD_STACK_NO_USER ? 0 : walk->user_pc;
  event->frames[0] = pc;
  event->kernel_frames = 0;
  event->user_frames = pc != 0;
  event->cfas = 0;
  event->python_words = 0;
  event->python_flags = 0;
  event->label_bytes = 0;
  event->missing_stack_bytes = 0;
  event->uncertain_from = PROFD_ALL_CERTAIN;
  event->stack_flags = PROFD_STACK_MOVED | (pc ? 0 : PROFD_STACK_NO_USER);
  count(PROFD_COUNTER_STACKS_MOVED);
}

static __always_inline void begin_observation(struct profd_sample_event* event,
                                              struct task_struct* task, u32 state, u64 sessions,
                                              u64 now) {
  begin_sample(event, task, PROFD_EVENT_OFF_CPU, now, sessions);
  event->event.flags |= PROFD_SAMPLE_OBSERVED;
  event->task_state = task->__state;
  if (state == PROFD_STATE_RUNNABLE)
    event->event.flags |= PROFD_SAMPLE_PREEMPTED;
  else if (READ_ANY_WIDTH(task, in_iowait))
    event->event.flags |= PROFD_SAMPLE_IOWAIT;
}

/* Whether the thread has left the wait in which it was found: any other wait has a switch more. */
static __always_inline int has_moved(struct task_struct* task, u64 switches, u32 state) {
  u32 now;
  barrier();
  now = present_state(task);
  forget(now); /* a state that is known makes a path of its own through all that follows */
  return switches != switches_of(task) || state != now;
}

/*
 * Both stacks of a thread that does not run: first what may change under the reader's hands, in
 * some 3 us, and then the walk, mostly in the copy. 0: the thread moved meanwhile.
 */
static __always_inline int read_stacks(struct profd_sample_event* event, struct walk* walk,
                                       struct task_struct* task, u64 switches, u32 state) {
  int has_user = take_user_registers(event, walk, task), may_read;
  event->registers = has_user ? hash_registers(walk) : 0;
  empty_stack_block(walk);
  if (has_moved(task, switches, state)) {
    forget_place(event, walk);
    return 0;
  }
  may_read = may_read_memory(task);
  if (has_user && may_read) copy_stack_block(walk, task);
  if (has_moved(task, switches, state)) return 0;
  keep_kernel_stack(event, bpf_get_task_stack(task, event->frames, KERNEL_STACK_BYTES, 0));
  if (has_moved(task, switches, state)) return 0;
  if (!has_user) return 1;
  if (!may_read) {
    event->stack_flags |= PROFD_STACK_USER_FAULT;
    return 1;
  }
  walk_task(event, walk, task);
  return !block_of(walk)->live_reads || !has_moved(task, switches, state);
}

/*
 * Reads and sends the stack of a thread that has moved since the last visit. `may_observe`: whether
 * a thread may be reported, as far as a program that sleeps can know.
 */
static __always_inline void read_observed(struct task_struct* task, u32 stream,
                                          struct reader* reader, u64 weight,
                                          int (*may_observe)(struct task_struct* task,
                                                             struct thread* thread)) {
  struct profd_sample_event* event = &reader->sample.event;
  struct thread* thread = find_thread(task);
  struct observed* observed = find_observed(task, 0);
  u64 now = bpf_ktime_get_ns(), switches, sessions;
  u32 state;
  if (!thread || !observed) return;
  sessions = observed_sessions_of(thread);
  switches = switches_of(task);
  barrier();
  state = present_state(task);
  keep_recent(task, observed, now);
  if (switches != observed->switches) observed->rereads = 0;
  observed->switches = switches;
  observed->stack_state = state == PROFD_STATE_ON_CPU ? STACK_RUNNING : STACK_NONE;
  if (state == PROFD_STATE_ON_CPU || !sessions || !may_observe(task, thread)) return;
  begin_observation(event, task, state, sessions, now);
  control.observes_pid[stream & 1] = task->tgid;
  if (!read_stacks(event, &reader->walk, task, switches, state))
    keep_program_counter(event, &reader->walk);
  else if (!(event->stack_flags & PROFD_STACK_TABLES_NOT_READY) ||
           ++observed->rereads > MAX_REREADS)
    observed->stack_state = stack_state_of(state);
  control.observes_pid[stream & 1] = 0;
  observed->stack_sessions = sessions;
  event->period_ns = weight;
  event->held_ns = observed->held_ns;
  event->stack_number = ++observed->stack_number;
  send_sample(&ring_sched, PROFD_RING_SCHED_BYTES, &reader->sample, &reader->walk,
              PROFD_COUNTER_OFF_CPU_SAMPLES, PROFD_COUNTER_OFF_CPU_RING_FULL);
}

/* The observer has just come to its CPU: its run queue's clock was read then. */
static __always_inline u64 own_arrival(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  return bpf_core_field_exists(task->sched_info) ? task->sched_info.last_arrival : 0;
}

/* The pass that the observer on this CPU has requested. */
static __always_inline const struct profd_pass* requested_pass(void) {
  u32 key = 0;
  const struct profd_pass* pass = bpf_map_lookup_elem(&requested_passes, &key);
  if (pass && pass->cpu == bpf_get_smp_processor_id()) return pass;
  key = 1;
  return bpf_map_lookup_elem(&requested_passes, &key);
}

/* There is no lock here for may_report: quiet threads wait until a reading of clocks reports them.
 */
static __always_inline int may_observe_unlocked(struct task_struct* task, struct thread* thread) {
  return thread->quiet != QUIET && thread->quiet != LEFT_OUT;
}

/*
 * One thread of a pass by a task iterator, on kernels whose programs cannot iterate by themselves:
 * it passes all threads at each point, and reads a stack when it comes to the thread.
 */
static __always_inline void observe_thread(struct task_struct* task, int is_first) {
  const struct profd_pass* pass = requested_pass();
  struct reader* reader;
  int recent = 0;
  u64 weight;
  if (!pass) return;
  if (is_first) follow_run_queue_clock(bpf_ktime_get_ns(), own_arrival());
  weight = visit_thread(task, pass, &recent);
  if (!weight) return;
  reader = take_buffer(&readers, READERS);
  if (!reader) return;
  read_observed(task, pass->stream, reader, weight, may_observe_unlocked);
  release_buffer(reader);
}
