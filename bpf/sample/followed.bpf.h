/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Threads outside a session that end waits of its members. They are followed for a while: sampled
 * as members are, so that user space knows what they did while others waited for them. Their time
 * is no part of the session.
 */
#pragma once

#include "bpf/thread/filter.bpf.h"
#include "bpf/thread/task.bpf.h"

/* The sessions for which a thread is followed at `now`, be it a member of them or not. */
static __always_inline u64 followed_sessions(struct thread* thread, u64 now) {
  u64 followed = thread->followed;
  if (!followed || now < thread->followed_until_ns) return followed;
  __sync_fetch_and_and(&thread->followed, ~followed);
  return 0;
}

/* Follows the current thread for those sessions that it is no member of. */
static __always_inline void follow_thread(struct task_struct* task, u64 sessions, u64 now) {
  struct thread* thread = find_clock(task);
  if (!thread) return;
  sessions &= ~thread->sessions;
  if (!sessions) return;
  followed_sessions(thread, now); /* those of long ago must not come back */
  thread->followed_until_ns = now + PROFD_FOLLOWED_NS;
  __sync_fetch_and_or(&thread->followed, sessions);
}

/*
 * A program of another owner may run in the thread from now on. Sessions of one user forget it, and
 * a number is left out: what they inferred from its samples so far they cannot go on with.
 */
static __always_inline void stop_following(struct thread* thread, u64 sessions) {
  if (!(thread->followed & sessions)) return;
  __sync_fetch_and_and(&thread->followed, ~sessions);
  thread->samples++;
}
