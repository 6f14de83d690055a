/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* More of kernel_types.h: what a task iterator is called with. */
#pragma once

#include "bpf/kernel/kernel_types.h"

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct seq_file;

struct bpf_iter_meta {
  struct seq_file* seq;
  __u64 session_id;
  __u64 seq_num; /* of the task, from 0 */
};

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif
