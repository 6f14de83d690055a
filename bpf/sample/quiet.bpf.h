/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Quiet threads: those beyond the share of their process or user. Their begin is not reported. A
 * thread that is sampled, or lives at an epoch, is reported from then on, with its clock from its
 * begin and with its end. One that ends before is left out, and counted. So what is made without
 * end costs nothing beyond the BPF side, and what lasts is seen.
 */
#pragma once

#include "bpf/thread/share.bpf.h"
#include "bpf/thread/task.bpf.h"

/* The pid as events have it. */
static __always_inline u32 event_pid(struct task_struct* task) {
  struct ids ids;
  read_ids(task, &ids);
  return ids.pid;
}

/* Whether the begin of a thread that `parent`, which is current, has made is within the share. */
static __always_inline int is_announced(struct task_struct* parent, int new_process, u64 now) {
  struct thread* thread = find_thread(parent);
  if (new_process)
    return take_share(PROFD_SHARE_PROCESSES, BPF_CORE_READ(parent, real_cred, uid.val), now,
                      PROFD_PROCESSES_PER_SECOND, PROFD_PROCESSES_AT_ONCE);
  /* Its process is not known either. */
  if (thread && thread->quiet == QUIET) return 0;
  return take_share(PROFD_SHARE_THREADS, event_pid(parent), now, PROFD_THREADS_PER_SECOND,
                    PROFD_THREADS_AT_ONCE);
}

static __noinline int report_quiet(struct task_struct* task, struct thread* thread) {
  struct thread* leader;
  if (__sync_val_compare_and_swap(&thread->quiet, (u32)QUIET, (u32)REPORTED) == LEFT_OUT) return 0;
  leader = find_thread(task->group_leader);
  if (leader && leader->quiet) leader->quiet = REPORTED; /* so that the end of the process is */
  return 1;
}

/* Something of the thread is about to be reported; 0: it has been left out. */
static __always_inline int may_report(struct task_struct* task, struct thread* thread) {
  return !thread->quiet || report_quiet(task, thread);
}

/* A quiet thread ends; 1: user space does not know it, and never will. */
static __noinline int leave_out(struct task_struct* task, struct thread* thread, int last) {
  struct thread* leader = find_thread(task->group_leader);
  int known = !leader || leader->quiet == ANNOUNCED || leader->quiet == REPORTED;
  if (last && known) return !may_report(task, thread);
  if (__sync_val_compare_and_swap(&thread->quiet, (u32)QUIET, (u32)LEFT_OUT) != QUIET) return 0;
  count(PROFD_COUNTER_THREADS_BEYOND_SHARE);
  return 1;
}
