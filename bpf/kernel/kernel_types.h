/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The few kernel structs the programs read. Only the fields used, in no particular order: every
 * access is relocated at load against the BTF of the running kernel (CO-RE), so building needs no
 * kernel headers and no BTF. What is after `___` in a name is ignored by libbpf: such a struct is
 * another shape of the same kernel type.
 */
#pragma once

#include <linux/types.h>

#ifdef __bpf__ /* also compiled as user code, by tests */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

struct sched_info {
  unsigned long long run_delay;
  unsigned long long last_arrival; /* run-queue clock, not CLOCK_MONOTONIC */
  unsigned long long last_queued;  /* the same; 0 = not waiting for a CPU */
};

struct task_struct;

struct rq {
  __u64 clock;
  __u64 clock_task;
  int cpu; /* with CONFIG_SMP */
  struct task_struct* curr;
};
struct cfs_rq {
  struct rq* rq; /* with CONFIG_FAIR_GROUP_SCHED */
};
struct sched_entity {
  __u64 sum_exec_runtime;
  __u64 exec_start; /* up to here, by clock_task */
  __u64 nr_migrations;
  unsigned char sched_delayed; /* since 6.12: it sleeps, though it is queued still */
  struct cfs_rq* cfs_rq;
};
struct thread_info {
  unsigned int cpu; /* it runs on, or ran on last */
};

struct ns_common {
  unsigned int inum;
};

struct pid_namespace {
  struct ns_common ns;
};
struct upid {
  int nr;
  struct pid_namespace* ns;
};
struct pid {
  unsigned int level;
  struct upid numbers[1];
};

struct kernfs_node {
  struct kernfs_node* parent; /* until 6.14 */
  __u64 id;
};
struct kernfs_node___renamed {
  struct kernfs_node* __parent; /* since 6.15 */
};
struct cgroup {
  struct kernfs_node* kn;
};
struct css_set {
  struct cgroup* dfl_cgrp;
};

struct qstr {
  const unsigned char* name;
};

struct dentry {
  struct qstr d_name;
};

struct path {
  struct dentry* dentry;
};
struct super_block {
  unsigned long s_magic;
  unsigned int s_dev;
};
struct inode {
  unsigned short i_mode;
  struct super_block* i_sb;
  unsigned long i_ino;
  unsigned int i_generation;
  long long i_size;
  long long i_mtime_sec; /* since 6.11 */
  unsigned int i_mtime_nsec;
};
struct file {
  struct inode* f_inode;
  struct path f_path;
};
struct fdtable {
  unsigned int max_fds;
  struct file** fd;
};
struct files_struct {
  struct fdtable* fdt;
};

struct signal_struct {
  struct {
    int counter;
  } live;
};

struct mm_struct; /* these two: process_types.h */
struct cred;

struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;
  unsigned int flags;
  int on_cpu; /* until 7.1; a byte since 7.2: READ_ANY_WIDTH of task.bpf.h */
  int on_rq;
  unsigned in_iowait : 1;
  int exit_state;
  int exit_code;
  int pid;
  int tgid;
  __u64 start_time; /* CLOCK_MONOTONIC */
  __u64 start_boottime;
  unsigned long nvcsw;  /* switches to sleep */
  unsigned long nivcsw; /* all others */
  char comm[16];
  struct sched_info sched_info;
  struct sched_entity se;
  struct task_struct* real_parent;
  struct task_struct* group_leader;
  struct pid* thread_pid;
  struct mm_struct* mm;
  const struct cred* real_cred;
  struct files_struct* files;
  struct signal_struct* signal;
  struct css_set* cgroups;
  struct {
    unsigned long fsbase; /* where a thread's own data is, for user code */
  } thread;
};

struct hw_perf_event {
  __u64 sample_period;
};
struct perf_event {
  struct hw_perf_event hw;
};
/* What a perf_event program's context is made of. */
struct bpf_perf_event_data_kern {
  struct perf_event* event;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

/* Bits of task_struct. None has changed in the kernels supported. */
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400
#define PF_EXITING 0x00000004
#define PF_FORKNOEXEC 0x00000040
#define PF_KTHREAD 0x00200000
#define CLONE_THREAD 0x00010000
