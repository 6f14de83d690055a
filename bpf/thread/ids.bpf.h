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

/* Ids in profd's pid namespace. */
static __always_inline void read_ids(struct task_struct* task, struct ids* ids) {
  if (constants.pidns_level == 0) {
    ids->pid = task->tgid;
    ids->tid = task->pid;
  } else {
    ids_by_namespace(task, ids);
  }
}
