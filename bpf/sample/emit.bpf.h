/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How events get into the rings: exactly the bytes used, woken rarely, failures counted. */
#pragma once

#include "bpf/sample/pack.bpf.h"
#include "bpf/stack/labels.bpf.h"
#include "bpf/stack/python.bpf.h"
#include "bpf/stack/syscall.bpf.h"
#include "bpf/stack/unwind.bpf.h"
#include "bpf/thread/task.bpf.h"

/*
 * The reader polls; it is woken when a quarter of the ring is full, for new Python code, and for
 * programs that begin.
 */
static __always_inline u64 wakeup_flag(void* ring, u64 ring_bytes) {
  return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= ring_bytes / 4 ? BPF_RB_FORCE_WAKEUP
                                                                      : BPF_RB_NO_WAKEUP;
}

/* Empties all that a sample may leave out. */
static __always_inline void begin_sample(struct profd_sample_event* event, struct task_struct* task,
                                         u16 kind, u64 time_ns, u64 sessions) {
  fill_event(&event->event, task, kind, time_ns, sessions);
  if (is_kernel_thread(task)) event->event.flags |= PROFD_SAMPLE_KTHREAD;
  if (sessions && !is_requested(sessions)) event->event.flags |= PROFD_SAMPLE_BACKGROUND;
  event->begin_ns = 0;
  event->runnable_ns = 0;
  event->period_ns = 0;
  event->blocked_points = 0;
  event->runnable_points = 0;
  event->syscall = -1;
  event->task_state = 0;
  event->syscall_args[0] = event->syscall_args[1] = event->syscall_args[2] = 0;
  event->fd_kind = PROFD_FD_NONE;
  event->stack_flags = 0;
  event->kernel_frames = 0;
  event->user_frames = 0;
  event->missing_stack_bytes = 0;
  event->uncertain_from = PROFD_ALL_CERTAIN;
  event->cfas = 0;
  event->python_words = 0;
  event->python_flags = 0;
  event->followed_sessions = 0;
  event->number = 0;
  event->label_bytes = 0;
  event->reserved = 0;
}

/* Takes the length in bytes that a stack helper returned, or its error. */
static __always_inline void keep_kernel_stack(struct profd_sample_event* event, s64 bytes) {
  if (bytes < 0) {
    count(PROFD_COUNTER_KERNEL_STACK_FAILED);
    event->stack_flags |= PROFD_STACK_KERNEL_FAILED;
    return;
  }
  event->kernel_frames = bytes / sizeof(u64);
  if (event->kernel_frames == PROFD_MAX_KERNEL_FRAMES)
    event->stack_flags |= PROFD_STACK_KERNEL_TRUNCATED;
}

#define KERNEL_STACK_BYTES (PROFD_MAX_KERNEL_FRAMES * sizeof(u64))

/*
 * The user registers of a thread that is inside the kernel, and what it requested. 0: it has none.
 * Workers of io_uring are threads of their process, but have never been in user mode; a thread on
 * its way out has given its memory back.
 */
static __always_inline int take_user_registers(struct profd_sample_event* event, struct walk* walk,
                                               struct task_struct* task) {
  struct pt_regs___kernel* pt_regs = (struct pt_regs___kernel*)bpf_task_pt_regs(task);
  if (is_kernel_thread(task) || !task->mm || !pt_regs || !pt_regs->ip) {
    event->stack_flags |= PROFD_STACK_NO_USER;
    return 0;
  }
  fill_syscall(event, task, pt_regs);
  walk->pc = walk->user_pc = pt_regs->ip;
  walk->is_64_bit = pt_regs->cs == USER_CS;
  COPY_REGISTERS(walk->registers.value, pt_regs, );
  return 1;
}

static __always_inline struct sample_buffer* sample_of(struct profd_sample_event* event) {
  return (void*)event - __builtin_offsetof(struct sample_buffer, event);
}

/* The walks of another thread. */
static __always_inline void walk_task(struct profd_sample_event* event, struct walk* walk,
                                      struct task_struct* task) {
  walk_user_stack(event, walk, task, walk->is_64_bit, READ_TASK);
  walk_python(event, walk, task, READ_TASK);
  read_labels(sample_of(event), walk, task, READ_TASK);
}

/* The user stack of another thread that is inside the kernel. */
static __always_inline void take_user_stack(struct profd_sample_event* event, struct walk* walk,
                                            struct task_struct* task) {
  if (!take_user_registers(event, walk, task)) return;
  copy_stack_block(walk, task);
  walk_task(event, walk, task);
}

/* The walks of the current thread. Global functions: the verifier checks them once, whatever their
 * callers know. Several, as the frames of all that call each other share 512 bytes. */
__noinline int walk_current_user(struct sample_buffer* sample, struct walk* walk) {
  if (!sample || !walk) return 0;
  walk_user_stack(&sample->event, walk, bpf_get_current_task_btf(), walk->is_64_bit, READ_CURRENT);
  return 0;
}

__noinline int walk_current_python(struct sample_buffer* sample, struct walk* walk) {
  if (!sample || !walk) return 0;
  walk_python(&sample->event, walk, bpf_get_current_task_btf(), READ_CURRENT);
  return 0;
}

__noinline int read_current_labels(struct sample_buffer* sample, struct walk* walk) {
  if (!sample || !walk) return 0;
  read_labels(sample, walk, bpf_get_current_task_btf(), READ_CURRENT);
  return 0;
}

static __always_inline void walk_current(struct sample_buffer* sample, struct walk* walk) {
  walk_current_user(sample, walk);
  walk_current_python(sample, walk);
}

/* The stacks of the current thread as it is inside the kernel. */
static __always_inline void take_current_stacks(void* ctx, struct sample_buffer* sample,
                                                struct walk* walk, struct task_struct* task) {
  struct profd_sample_event* event = &sample->event;
  keep_kernel_stack(event, bpf_get_stack(ctx, event->frames, KERNEL_STACK_BYTES, 0));
  if (!take_user_registers(event, walk, task)) return;
  walk_current(sample, walk);
  read_current_labels(sample, walk);
}

/* `walk`: the one that made the stacks of this sample, or 0. Its bytes. */
static __always_inline u64 send_sample(void* ring, u64 ring_bytes, struct sample_buffer* sample,
                                       const struct walk* walk, u32 sent, u32 lost) {
  u64 wakeup =
      wakes_for_code(&sample->event, walk) ? BPF_RB_FORCE_WAKEUP : wakeup_flag(ring, ring_bytes);
  u64 bytes = finish_sample(sample);
  int failed = bpf_ringbuf_output(ring, &sample->event, bytes, wakeup) != 0;
  count(failed ? lost : sent);
  return bytes;
}
