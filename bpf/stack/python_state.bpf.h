/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a thread has to do with the runtimes of its process: its thread state in each, and the GIL.
 *
 * The maps are only read here. A child that has not executed another program has its parent's
 * interpreters at the same addresses, so it does until it has entries of its own.
 */
#pragma once

#include "bpf/stack/unwind_registers.bpf.h"
#include "bpf/thread/ids.bpf.h"

#define PYTHON_ANCESTORS 3
/* From the GIL of 3.7 to 3.11 to the thread state that runs: gilstate.tstate_current. */
#define PYTHON_RUNNING_STATE (PROFD_PYTHON_GIL_BYTES + 8)

struct python_search {
  u64 task; /* struct task_struct */
  const struct profd_python_process* found;
};

static long try_parent(u32 index, struct python_search* search) {
  struct task_struct* task = (struct task_struct*)search->task;
  struct ids ids = {};
  (void)index;
  if (!(BPF_CORE_READ(task, group_leader, flags) & PF_FORKNOEXEC)) return 1;
  task = BPF_CORE_READ(task, real_parent);
  if (!task) return 1;
  search->task = (u64)task;
  ids_by_namespace(task, &ids);
  search->found = bpf_map_lookup_elem(&python_processes, &ids.pid);
  return search->found != 0;
}

/* What is known of the first runtime of the task's process; 0: there is none. */
static __always_inline const struct profd_python_process* find_python(struct task_struct* task,
                                                                      u32 pid) {
  struct python_search search = {.task = (u64)task};
  search.found = bpf_map_lookup_elem(&python_processes, &pid);
  if (!search.found) bpf_loop(PYTHON_ANCESTORS, try_parent, &search, 0);
  return search.found;
}

/* Reads memory of the interpreter; 0, and the walk is flagged, when it cannot be read. */
static __always_inline int read_python(struct walk_context* context, void* to, u32 bytes, u64 from,
                                       int reader) {
  if (read_memory(context, to, bytes, from, reader)) return 1;
  context->walk->python.flags |= PROFD_PYTHON_FAULT;
  return 0;
}

/*
 * The slot of 3.11 and older keeps a thread's first state for ever, also while the thread runs
 * another interpreter of the process: the state that runs it is known to the runtime, as long as
 * the thread has the GIL.
 */
static __always_inline u64 find_running_state(struct walk_context* context, u64 thread_pointer,
                                              int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process = &python->process;
  u64* words = python->frame_words; /* nothing on the stack, which is full */
  if (!process->gil || process->interpreter_gil ||
      !read_memory(context, &words[0], sizeof(u64), process->gil + PYTHON_RUNNING_STATE, reader) ||
      !words[0] || words[0] == python->bound ||
      !read_memory(context, &words[1], sizeof(u64), words[0] + process->thread_id, reader) ||
      words[1] != thread_pointer)
    return python->bound;
  return words[0];
}

/* The thread's state, which must name its thread pointer; 0: it has none, or the walk is flagged.
 */
static __always_inline u64 find_thread_state(struct walk_context* context, int reader) {
  const struct profd_python_process* process = &context->walk->python.process;
  struct task_struct* task = context->task;
  u64 thread_pointer = BPF_CORE_READ(task, thread.fsbase);
  u64 state = 0, owner = 0;
  if (!thread_pointer ||
      !read_python(context, &state, sizeof(state), thread_pointer + process->slot, reader) ||
      (process->slot_inner && state &&
       !read_python(context, &state, sizeof(state), state + process->slot_inner - 1, reader)) ||
      !state || !read_python(context, &owner, sizeof(owner), state + process->thread_id, reader) ||
      owner != thread_pointer)
    return 0;
  context->walk->python.bound = state;
  return find_running_state(context, thread_pointer, reader);
}

/* The GIL of the thread's interpreter; 0: not known. */
static __always_inline u64 find_gil(struct walk_context* context, u64 state, int reader) {
  const struct profd_python_process* process = &context->walk->python.process;
  u64 interpreter = 0, gil = 0;
  if (!process->interpreter_gil) return process->gil;
  if (!read_memory(context, &interpreter, sizeof(interpreter), state + process->thread_interpreter,
                   reader) ||
      !interpreter ||
      !read_memory(context, &gil, sizeof(gil), interpreter + process->interpreter_gil, reader))
    return 0;
  return gil;
}

/* A GIL that is being made has another value than 0 and 1. */
static __always_inline void note_gil(struct walk_context* context, u64 state, int reader) {
  struct python_walk* python = &context->walk->python;
  u64 gil = find_gil(context, state, reader), holder = 0;
  u32 locked = 0;
  if (!gil ||
      !read_memory(context, &locked, sizeof(locked), gil + python->process.gil_locked, reader) ||
      locked > 1 ||
      !read_memory(context, &holder, sizeof(holder), gil + python->process.gil_holder, reader))
    return;
  python->flags |= PROFD_PYTHON_GIL_KNOWN;
  if (locked && (holder == state || holder == python->bound))
    python->flags |= PROFD_PYTHON_GIL_HELD;
  if (context->event->syscall_args[0] - gil - PROFD_PYTHON_GIL_WAITS <
      PROFD_PYTHON_GIL_BYTES - PROFD_PYTHON_GIL_WAITS)
    python->flags |= PROFD_PYTHON_GIL_FUTEX;
}

/* The thread's state in the current runtime; 0: it has none. Sets flags in the walk. */
static __always_inline u64 begin_runtime(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  u32 before = python->flags;
  python->state = find_thread_state(context, reader);
  if (!python->state) return 0;
  python->flags = (python->flags | PROFD_PYTHON_THREAD) & ~PROFD_PYTHON_GIL_KNOWN;
  note_gil(context, python->state, reader);
  if ((before & PROFD_PYTHON_THREAD) && !(before & PROFD_PYTHON_GIL_KNOWN))
    python->flags &= ~PROFD_PYTHON_GIL_KNOWN;
  return python->state;
}

static __always_inline int has_next_runtime(const struct python_walk* python) {
  return python->key.runtime < python->more;
}

/* The same, in the next runtime. */
static __always_inline u64 begin_next_runtime(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process;
  struct profd_python_runtime_key key;
  python->key.runtime++;
  key = python->key; /* older kernels take keys from the stack or from maps only */
  process = bpf_map_lookup_elem(&python_runtimes, &key);
  if (!process) return 0;
  python->process = *process;
  return begin_runtime(context, reader);
}

/* The same, in the first runtime of the thread's process, if that has one. */
static __always_inline u64 begin_python(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process;
  python->flags = 0;
  python->state = python->inner = 0;
  python->key.runtime = python->more = 0;
  if (!control.python_processes) return 0;
  process = find_python(context->task, context->event->event.pid);
  if (!process) return 0;
  python->process = *process;
  python->key.pid = process->pid;
  python->more = process->more & (PROFD_MAX_PYTHON_RUNTIMES - 1);
  python->flags = PROFD_PYTHON_PROCESS | python->more << PROFD_PYTHON_MORE_SHIFT;
  return begin_runtime(context, reader);
}

static long note_next_runtime(u32 index, struct walk_context* context) {
  (void)index;
  begin_next_runtime(context, READ_TASK);
  return 0;
}

/* Of a thread whose frames change as it runs: whether it has a state, and the GIL. */
static __always_inline void note_python(struct profd_sample_event* event, struct walk* walk,
                                        struct task_struct* task) {
  struct walk_context context = {.event = event, .walk = walk, .task = task};
  begin_python(&context, READ_TASK);
  bpf_loop(walk->python.more, note_next_runtime, &context, 0);
  event->python_flags = walk->python.flags;
}
