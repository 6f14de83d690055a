/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which threads observers visit at each point: those that have switched lately, new ones, and those
 * of sessions that a client has just started. */
#pragma once

#include "bpf/thread/task.bpf.h"

static __always_inline u32 long_period_at(u32 stream, u64 now) {
  return (now - stream * PROFD_STREAM_SHIFT_NS) >> PROFD_LONG_LEVEL;
}

/* A list is used again for every other long period: who adds first empties it. */
#define LIST_TRIES 8

/* A global function: the verifier checks it once, wherever it is called. */
__noinline int add_recent(u32 stream, u32 long_period, u32 tid) {
  u32 key = (stream & 1) << 1 | (long_period & 1);
  struct recent_list* list = bpf_map_lookup_elem(&recent_lists, &key);
  if (!list) return 0;
  for (int i = 0; i < LIST_TRIES; i++) {
    u64 head = *(volatile u64*)&list->head;
    u64 next = head >> 32 == long_period ? head + 1 : (u64)long_period << 32 | 1;
    u32 place = (u32)next - 1;
    if (place >= PROFD_MAX_RECENT) break;
    if (!__sync_bool_compare_and_swap(&list->head, head, next)) continue;
    list->tids[place] = tid;
    return 1;
  }
  count(PROFD_COUNTER_RECENT_FULL);
  return 0;
}

/* A new thread is visited at each point of the long period in which it begins, and of the next. */
static __always_inline void add_new_thread(struct task_struct* task, u64 now) {
  for (u32 stream = 0; stream < PROFD_STREAMS; stream++) {
    u32 long_period = long_period_at(stream, now);
    add_recent(stream, long_period, task->pid);
    add_recent(stream, long_period + 1, task->pid);
  }
}

static __always_inline int is_after(u32 period, u32 other) { return (s32)(period - other) > 0; }

/* Whether the passes of a stream visit the thread at each point of this long period. */
static __always_inline int is_recent(struct task_struct* task, const struct observed* observed,
                                     u32 stream, u32 long_period) {
  u32 born = long_period_at(stream, task->start_time);
  return !is_after(long_period, observed->recent_until[stream & 1]) ||
         !is_after(long_period, born + 1);
}

/* A thread joins sessions at `now`, and may be new: it is on no list if there was no session. */
static __always_inline void add_if_new(struct task_struct* task, u64 now) {
  for (u32 stream = 0; stream < PROFD_STREAMS; stream++) {
    u32 born = long_period_at(stream, task->start_time);
    u32 long_period = long_period_at(stream, now);
    if (is_after(long_period, born + 1)) continue;
    add_recent(stream, long_period, task->pid);
    if (long_period == born) add_recent(stream, long_period + 1, task->pid);
  }
}

/*
 * A client's session has just begun: a visit that represents a long period would be the only one of
 * its first second. Where there is no room the thread is visited as before.
 */
static __always_inline void begin_recent(struct task_struct* task, struct observed* observed,
                                         u64 now) {
  for (u32 stream = 0; stream < PROFD_STREAMS; stream++) {
    u32 long_period = long_period_at(stream, now);
    if (is_recent(task, observed, stream, long_period + 1)) continue;
    if (!is_recent(task, observed, stream, long_period) &&
        !add_recent(stream, long_period, task->pid))
      continue;
    if (!add_recent(stream, long_period + 1, task->pid)) continue;
    observed->recent_until[stream & 1] = long_period + 1;
  }
}

/* It has switched: it is visited at each point of the next long period, too. */
static __always_inline void keep_recent(struct task_struct* task, struct observed* observed,
                                        u64 now) {
  for (u32 stream = 0; stream < PROFD_STREAMS; stream++) {
    u32 next = long_period_at(stream, now) + 1;
    u32 born = long_period_at(stream, task->start_time);
    if (!is_after(next, observed->recent_until[stream & 1])) continue;
    observed->recent_until[stream & 1] = next;
    if (is_after(next, born + 1)) add_recent(stream, next, task->pid);
  }
}
