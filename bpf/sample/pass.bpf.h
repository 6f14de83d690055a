/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A pass of the program `observe`, which finds the threads itself: it visits all, and then reads
 * the stacks of those that have moved.
 */
#pragma once

#include "bpf/sample/observe.bpf.h"
#include "bpf/thread/task_functions.bpf.h"

#define LISTED_LONG (1ull << 32)

/* What loops over threads get: little, as the stacks of all callbacks together are small. */
struct pass_context {
  struct pass* pass;
  struct reader* reader;
};

/* The first part of a pass for one thread. */
static __always_inline void list_thread(struct task_struct* task, struct pass* pass) {
  u64 place = pass->count;
  int recent = 0;
  if (!visit_thread(task, &pass->of, &recent)) return;
  if (place >= PROFD_MAX_READ) {
    count(PROFD_COUNTER_RECENT_FULL);
    return;
  }
  pass->entries[place] = (u32)task->pid | (recent ? 0 : LISTED_LONG);
  pass->count = place + 1;
}

/* may_report looks at the leader of the thread. */
static __always_inline int may_observe_locked(struct task_struct* task, struct thread* thread) {
  int may;
  bpf_rcu_read_lock();
  may = may_report(task, thread);
  bpf_rcu_read_unlock();
  return may;
}

static long visit_recent(u32 index, struct pass_context* context) {
  struct pass* pass = context->pass;
  u32 key = (pass->of.stream & 1) << 1 | (pass->of.long_period & 1);
  struct recent_list* list = bpf_map_lookup_elem(&recent_lists, &key);
  struct task_struct* task;
  if (!list || index >= PROFD_MAX_RECENT || list->head >> 32 != pass->of.long_period ||
      index >= (u32)list->head)
    return 1;
  task = bpf_task_from_pid(list->tids[index]);
  if (!task) return 0;
  list_thread(task, pass);
  bpf_task_release(task);
  return 0;
}

static __always_inline void visit_all(struct pass* pass) {
  struct bpf_iter_task it;
  struct task_struct* task;
  bpf_rcu_read_lock();
  bpf_iter_task_new(&it, 0, TASK_ITER_ALL_THREADS);
  while ((task = bpf_iter_task_next(&it))) list_thread(task, pass);
  bpf_iter_task_destroy(&it);
  bpf_rcu_read_unlock();
}

static long read_listed(u32 index, struct pass_context* context) {
  struct pass* pass = context->pass;
  struct task_struct* task;
  u64 entry;
  if (index >= PROFD_MAX_READ || index >= pass->count) return 1;
  entry = pass->entries[index];
  task = bpf_task_from_pid((u32)entry);
  if (!task) return 0;
  read_observed(task, pass->of.stream, context->reader,
                entry & LISTED_LONG ? pass->of.long_weight_ns : pass->of.weight_ns,
                may_observe_locked);
  bpf_task_release(task);
  return 0;
}

static __always_inline void make_pass(const struct profd_pass* of, struct pass_context* context) {
  context->pass->of = *of;
  context->pass->count = 0;
  if (of->long_weight_ns)
    visit_all(context->pass);
  else
    bpf_loop(PROFD_MAX_RECENT, visit_recent, context, 0);
  bpf_loop(PROFD_MAX_READ, read_listed, context, 0);
}

static __always_inline void observe_threads(const struct profd_pass* of) {
  struct pass_context context;
  follow_run_queue_clock(bpf_ktime_get_ns(), own_arrival());
  context.pass = take_buffer(&passes, PASSES);
  if (!context.pass) return;
  context.reader = take_buffer(&readers, READERS);
  if (context.reader) {
    make_pass(of, &context);
    release_buffer(context.reader);
  }
  release_buffer(context.pass);
}
