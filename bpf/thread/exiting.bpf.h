/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Threads on their way out. From somewhere in its exit on, the kernel lists a thread no more, so no
 * reading of clocks finds it; its end is reported when it leaves the CPU for the last time. One
 * that loses the CPU in between is in neither place for as long as that takes: half a second on a
 * busy host. So threads that exit are counted until they end or a reading finds them, and who ends
 * a session waits until there are none.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* The thread begins to exit. */
static __always_inline void begin_exit(struct thread* thread) {
  u32 slot = control.exit_slot & 1;
  if (thread->generation != (u32)control.clock_generation || thread->exiting) return;
  thread->exiting = 1 + slot;
  __sync_fetch_and_add(&words.exiting[slot], 1);
}

/* It has ended, or its clock was read: no more need to wait for it. */
static __always_inline void end_exit(struct thread* thread) {
  u32 was = thread->generation == (u32)control.clock_generation ? thread->exiting : 0;
  if (was && __sync_val_compare_and_swap(&thread->exiting, was, 0u) == was)
    __sync_fetch_and_add(&words.exiting[(was - 1) & 1], -1);
}
