/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers of tasks as profd's pid namespace has them. */
#pragma once

#include "bpf/maps.bpf.h"

#include <bpf/bpf_core_read.h>

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

/* A thread's number in its own pid namespace, where that is not profd's: what its user code calls
 * it. Else 0. */
static __noinline u32 own_tid(struct task_struct* task) {
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  u32 level = pid ? BPF_CORE_READ(pid, level) : 0;
  return level > constants.pidns_level ? number_in(pid, level, 0) : 0;
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
