/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Kernel functions (kfuncs) that find tasks. The program `observe` needs all of them; since 6.7. */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/kernel/kernel_types.h"

struct bpf_iter_task {
  __u64 opaque[3];
} __attribute__((aligned(8)));

#define TASK_ITER_ALL_THREADS 1 /* BPF_TASK_ITER_ALL_THREADS, an anonymous enum of the kernel */

extern int bpf_iter_task_new(struct bpf_iter_task* it, struct task_struct* task,
                             unsigned int flags) __ksym __weak;
extern struct task_struct* bpf_iter_task_next(struct bpf_iter_task* it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task* it) __ksym __weak;
extern struct task_struct* bpf_task_from_pid(int pid) __ksym __weak;
extern void bpf_task_release(struct task_struct* task) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;
