/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who a task is: ids as profd's pid namespace has them, start times, kernel thread or not. */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/clock.bpf.h"

struct ids {
  u32 pid; /* both 0: not visible in that pid namespace */
  u32 tid;
};

/* The number of `pid` at `level` of the pid namespace tree, where that is namespace `inum`. */
static __always_inline u32 number_in(struct pid* pid, u32 level, u32 inum) {
  struct upid upid = {};
  void* numbers;
  if (!pid || level > BPF_CORE_READ(pid, level)) return 0;
  numbers = (void*)pid + bpf_core_field_offset(struct pid, numbers);
  if (bpf_probe_read_kernel(&upid, sizeof(upid), numbers + level * sizeof(upid))) return 0;
  struct pid_namespace* namespace = upid.ns;
  if (inum && BPF_CORE_READ(namespace, ns.inum) != inum) return 0;
  return upid.nr;
}

static __noinline void ids_by_namespace(struct task_struct* task, struct ids* ids) {
  ids->pid = number_in(BPF_CORE_READ(task, group_leader, thread_pid), constants.pidns_level,
                       constants.pidns_inum);
  ids->tid =
      number_in(BPF_CORE_READ(task, thread_pid), constants.pidns_level, constants.pidns_inum);
}

/* Ids in profd's pid namespace. */
static __always_inline void read_ids(struct task_struct* task, struct ids* ids) {
  if (constants.pidns_level == 0) {
    ids->pid = task->tgid;
    ids->tid = task->pid;
  } else {
    ids_by_namespace(task, ids);
  }
}

static __always_inline int is_kernel_thread(const struct task_struct* task) {
  return (task->flags & PF_KTHREAD) != 0;
}

/* Fills the common head of an event about `task`. */
static __always_inline void fill_event(struct profd_event* event, struct task_struct* task,
                                       u16 kind, u64 time_ns, u64 sessions) {
  struct ids ids;
  read_ids(task, &ids);
  event->kind = kind;
  event->flags = 0;
  event->size = 0;
  event->time_ns = time_ns;
  event->pid = ids.pid;
  event->tid = ids.tid;
  event->process_start_ns = task->group_leader->start_boottime;
  event->thread_start_ns = task->start_boottime;
  event->sessions = sessions;
  event->cpu = bpf_get_smp_processor_id();
  event->reserved = 0;
}

static __always_inline struct thread* find_thread(struct task_struct* task) {
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  return thread && thread->begin_ns ? thread : 0;
}

/* What the kernel's books say; without CONFIG_SCHED_INFO only the run time. */
static __always_inline void read_books(struct task_struct* task, struct kernel_books* books) {
  books->sum_exec = task->se.sum_exec_runtime;
  books->run_delay = bpf_core_field_exists(task->sched_info) ? task->sched_info.run_delay : 0;
}
