/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Who a task is: ids as profd's pid namespace has them, start times, kernel thread or not. */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/thread/clock.bpf.h"
#include "bpf/thread/ids.bpf.h"

/*
 * Reads a field that is a flag, whatever width the running kernel gives it. libbpf adapts a plain
 * read only if the field is unsigned on both sides; else it refuses to load the program.
 */
#define READ_ANY_WIDTH(object, field) BPF_CORE_READ_BITFIELD(object, field)

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
  /* Read so: the verifier searches all types of the kernel for each pointer that it follows. */
  event->process_start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
  event->thread_start_ns = task->start_boottime;
  event->sessions = sessions;
  event->cpu = bpf_get_smp_processor_id();
  event->kept = 0;
}

static __always_inline struct thread* find_thread(struct task_struct* task) {
  struct thread* thread = bpf_task_storage_get(&threads, task, 0, 0);
  return thread && thread->begin_ns ? thread : 0;
}

/* Its storage, if its clock was made since the switch hooks were attached. */
static __always_inline struct thread* find_clock(struct task_struct* task) {
  struct thread* thread = find_thread(task);
  return thread && thread->generation == (u32)control.clock_generation ? thread : 0;
}

/*
 * What was stolen from the CPU that a thread is on, or was on last, since some time: by how much
 * the clock of its run queue that run time is taken from is behind the other one. Both stand still
 * between switches and ticks, so of a running thread up to a tick is missing. Another CPU may
 * change one of the two between the reads. With CONFIG_FAIR_GROUP_SCHED; else 0, and nothing is
 * known.
 */
static __always_inline u64 stolen_from_cpu(struct task_struct* task) {
  struct rq* run_queue;
  u64 clock;
  if (!bpf_core_field_exists(struct cfs_rq, rq)) return 0;
  run_queue = task->se.cfs_rq->rq;
  clock = run_queue->clock;
  barrier();
  return clock - run_queue->clock_task;
}

/* What kernel accounting says; without CONFIG_SCHED_INFO only the run time. */
static __always_inline void read_kernel_accounting(struct task_struct* task,
                                                   struct kernel_accounting* accounting) {
  accounting->sum_exec = task->se.sum_exec_runtime;
  accounting->run_delay = bpf_core_field_exists(task->sched_info) ? task->sched_info.run_delay : 0;
  accounting->stolen = stolen_from_cpu(task);
}

/* Remembers the run queue that a thread is on, or was on last: for sibling.bpf.h. */
static __always_inline void note_run_queue(struct task_struct* task) {
  struct rq* run_queue;
  u64* noted;
  u32 cpu;
  if (!bpf_core_field_exists(struct cfs_rq, rq) || !bpf_core_field_exists(struct rq, cpu)) return;
  run_queue = BPF_CORE_READ(task, se.cfs_rq, rq);
  cpu = BPF_CORE_READ(run_queue, cpu);
  noted = run_queue ? bpf_map_lookup_elem(&run_queues, &cpu) : 0;
  if (noted) *noted = (u64)run_queue;
}
