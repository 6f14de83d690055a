/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * User stacks by frame pointers: each frame begins with the caller's frame pointer, above it lies
 * the return address. Frames must move up the stack, so that no content of memory makes the walk
 * run in circles. It ends without a flag where the chain ends in zero, as at the entry point.
 *
 * frames[0] is the program counter: when the thread was interrupted, the instruction it was at; in
 * a syscall, the one after `syscall`. All others are return addresses: one past the call.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* Where the walk reads: constants, so that each program holds one reader. */
#define READ_CURRENT 0 /* memory of the running thread; a page that is not there is a fault */
#define READ_TASK 1    /* memory of any task; may sleep and fetch the page */

struct walk {
  struct profd_sample_event* event;
  struct task_struct* task; /* READ_TASK */
  u64 frame_pointer;
  u64 stack_pointer;
  u32 frames;
  u32 first; /* index of the first user frame in event->frames */
  u32 flags; /* PROFD_STACK_USER_* */
};

struct user_frame {
  u64 caller;
  u64 return_address;
};

/*
 * Keeps one address as user frame `position`; 0 when there is no room. The position comes from the
 * loop's own counter, which the verifier takes for any number: so it looks at one turn, not at all.
 */
static __always_inline int keep_frame(struct walk* walk, u32 position, u64 address) {
  u32 index = walk->first + position;
  if (position >= PROFD_MAX_USER_FRAMES || index >= PROFD_MAX_FRAMES) {
    walk->flags |= PROFD_STACK_USER_TRUNCATED;
    return 0;
  }
  walk->event->frames[index] = address;
  walk->frames = position + 1;
  return 1;
}

/* One frame up, to be user frame `position`; 1 when the walk is over. */
static __always_inline long walk_frame(struct walk* walk, u32 position, int reader) {
  struct user_frame frame = {};
  void* address = (void*)walk->frame_pointer;
  long error;
  if (!walk->frame_pointer) return 1;
  if (walk->frame_pointer < walk->stack_pointer || (walk->frame_pointer & 7)) {
    walk->flags |= PROFD_STACK_USER_FAULT;
    return 1;
  }
  if (reader == READ_TASK)
    error = bpf_copy_from_user_task(&frame, sizeof(frame), address, walk->task, 0);
  else
    error = bpf_probe_read_user(&frame, sizeof(frame), address);
  if (error) {
    walk->flags |= PROFD_STACK_USER_FAULT;
    return 1;
  }
  if (!frame.return_address) return 1;
  if (!keep_frame(walk, position, frame.return_address)) return 1;
  walk->stack_pointer = walk->frame_pointer + sizeof(frame);
  walk->frame_pointer = frame.caller;
  return 0;
}

static long walk_current_frame(u32 index, struct walk* walk) {
  return walk_frame(walk, index + 1, READ_CURRENT);
}

static long walk_task_frame(u32 index, struct walk* walk) {
  return walk_frame(walk, index + 1, READ_TASK);
}

struct user_registers {
  u64 pc;
  u64 stack_pointer;
  u64 frame_pointer;
};

/* Appends the user stack after the kernel frames of `event`. */
static __always_inline void walk_user_stack(struct profd_sample_event* event,
                                            const struct user_registers* registers, int reader,
                                            struct task_struct* task) {
  struct walk walk = {
      .event = event,
      .task = task,
      .frame_pointer = registers->frame_pointer,
      .stack_pointer = registers->stack_pointer,
      .first = event->kernel_frames,
  };
  if (keep_frame(&walk, 0, registers->pc)) {
    if (reader == READ_TASK)
      bpf_loop(PROFD_MAX_USER_FRAMES, walk_task_frame, &walk, 0);
    else
      bpf_loop(PROFD_MAX_USER_FRAMES, walk_current_frame, &walk, 0);
  }
  if (walk.flags & PROFD_STACK_USER_FAULT) count(PROFD_COUNTER_USER_STACK_FAULT);
  event->user_frames = walk.frames;
  event->stack_flags |= walk.flags;
}
