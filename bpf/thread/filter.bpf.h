/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Which sessions a thread belongs to. Runs where processes begin or change, never in a switch. */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/thread/owner.bpf.h"
#include "bpf/thread/task.bpf.h"

#define MAX_ANCESTORS 16
#define PID_LEVELS 33 /* MAX_PID_NS_LEVEL and the initial one */

struct number_search {
  struct pid* pid;
  u32 inum;
  u32 number;
};

static long search_number(u32 level, struct number_search* search) {
  search->number = number_in(search->pid, level, search->inum);
  return search->number != 0;
}

/* The number of `pid` in pid namespace `inum`, at whatever level that is; 0: not visible there. */
static __noinline u32 find_number(struct pid* pid, u32 inum) {
  struct number_search search = {.pid = pid, .inum = inum};
  bpf_loop(PID_LEVELS, search_number, &search, 0);
  return search.number;
}

/* The address of a task, as a number: the verifier keeps pointers and numbers apart. */
static __always_inline u64 address_of(struct task_struct* task) {
  u64 address = 0;
  bpf_probe_read_kernel(&address, sizeof(address), &task);
  return address;
}

static __always_inline int id_listed(u32 session, u32 id) {
  struct profd_filter_id key = {.session = session, .id = id};
  return id && bpf_map_lookup_elem(&filter_ids, &key) != 0;
}

static __noinline int match_id(const struct profd_filter* filter, u32 session,
                               struct task_struct* task) {
  int by_tid = filter->kind == PROFD_TARGET_TID;
  struct pid* pid =
      by_tid ? BPF_CORE_READ(task, thread_pid) : BPF_CORE_READ(task, group_leader, thread_pid);
  if (filter->pidns_inum) return id_listed(session, find_number(pid, filter->pidns_inum));
  return id_listed(session, number_in(pid, constants.pidns_level, constants.pidns_inum));
}

/* Whether two names are equal up to their end. No branch: the verifier would follow each. */
static __always_inline int same_comm(const char* a, const char* b) {
  u32 goes_on = ~0u, difference = 0;
#pragma unroll
  for (int i = 0; i < PROFD_COMM_LEN - 1; i++) {
    u32 byte = (u8)a[i], sign = -byte;
    difference |= (byte ^ (u8)b[i]) & goes_on;
    forget(sign);
    goes_on &= -(sign >> 31);
    forget(difference);
  }
  return difference == 0;
}

/* Its own name, or that of its process. */
static __noinline int match_comm(const struct profd_filter* filter, struct task_struct* task) {
  char comm[PROFD_COMM_LEN];
  BPF_CORE_READ_INTO(&comm, task, comm);
  if (same_comm(comm, filter->comm)) return 1;
  BPF_CORE_READ_INTO(&comm, task, group_leader, comm);
  return same_comm(comm, filter->comm);
}

struct cgroup_climb {
  struct kernfs_node* node;
  u64 wanted;
  int found;
};

static long climb_cgroup(u32 level, struct cgroup_climb* climb) {
  struct kernfs_node* node = climb->node;
  struct kernfs_node___renamed* renamed = (void*)node;
  if (!node) return 1;
  if (BPF_CORE_READ(node, id) == climb->wanted) {
    climb->found = 1;
    return 1;
  }
  climb->node = bpf_core_field_exists(renamed->__parent) ? BPF_CORE_READ(renamed, __parent)
                                                         : BPF_CORE_READ(node, parent);
  return 0;
}

static __noinline int match_cgroup(const struct profd_filter* filter, struct task_struct* task) {
  struct cgroup_climb climb = {.node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn),
                               .wanted = filter->cgroup_id};
  bpf_loop(PROFD_MAX_CGROUP_DEPTH, climb_cgroup, &climb, 0);
  return climb.found;
}

/* What no filter but one that names it finds: profd, kernel threads, other pid namespaces. */
static __noinline int may_match(const struct profd_filter* filter, struct task_struct* task) {
  struct ids ids = {};
  ids_by_namespace(task, &ids);
  if (!ids.pid || ids.pid == constants.own_pid) return 0;
  return !(BPF_CORE_READ(task, flags) & PF_KTHREAD) ||
         (filter->flags & PROFD_TARGET_KERNEL_THREADS);
}

/* Whatever else it matches: whether the session may see the thread at all. */
static __always_inline int may_see(const struct profd_filter* filter, struct task_struct* task) {
  return !(filter->flags & PROFD_TARGET_OF_USER) || belongs_to_user(task, filter->uid);
}

/*
 * A global function: the verifier checks it once, not in each turn of the loops around it. Such a
 * function takes no pointer to a task, only its address.
 */
__noinline int match_filter(const struct profd_filter* filter, u32 session, u64 address) {
  struct task_struct* task = (struct task_struct*)address;
  if (!filter) return 0;
  if (filter->kind == PROFD_TARGET_PID || filter->kind == PROFD_TARGET_TID)
    return match_id(filter, session, task);
  if (!may_match(filter, task)) return 0;
  switch (filter->kind) {
    case PROFD_TARGET_ALL:
      return 1;
    case PROFD_TARGET_COMM:
      return match_comm(filter, task);
    case PROFD_TARGET_CGROUP:
      return match_cgroup(filter, task);
    default:
      return 0;
  }
}

struct owner_check {
  struct task_struct* task;
  u64 sessions;
  u64 foreign;
};

static long check_owner(u32 session, struct owner_check* check) {
  u64 bit = 1ull << (session & (PROFD_MAX_SESSIONS - 1));
  struct profd_filter* filter;
  if (!(check->sessions & bit)) return 0;
  filter = bpf_map_lookup_elem(&filters, &session);
  if (filter && !may_see(filter, check->task)) check->foreign |= bit;
  return 0;
}

/*
 * Those of the sessions that may not see the task. A program that makes a thread a member checks
 * this once more afterwards: the thread may have executed a program of another user meanwhile.
 */
static __always_inline u64 foreign_sessions(struct task_struct* task, u64 sessions) {
  struct owner_check check = {.task = task, .sessions = sessions & control.confined_sessions};
  if (check.sessions) bpf_loop(PROFD_MAX_SESSIONS, check_owner, &check, 0);
  return check.foreign;
}

struct ancestor_search {
  const struct profd_filter* filter;
  u32 session;
  u64 task; /* its address */
  int found;
};

static long search_ancestor(u32 depth, struct ancestor_search* search) {
  const struct profd_filter* filter = search->filter;
  struct task_struct* task = (struct task_struct*)search->task;
  if (!task || !filter) return 1;
  if (match_filter(filter, search->session, search->task)) {
    search->found = 1;
    return 1;
  }
  if (!(filter->flags & PROFD_TARGET_CHILDREN) || filter->kind == PROFD_TARGET_TID ||
      BPF_CORE_READ(task, pid) <= 1)
    return 1;
  search->task = (u64)BPF_CORE_READ(task, real_parent);
  return 0;
}

struct match_context {
  struct task_struct* task;
  u64 candidates;
  u64 matched;
  u64 parents;     /* sessions of the thread that made it */
  int new_process; /* it made a process, not only a thread */
};

static __always_inline int inherits(const struct profd_filter* filter,
                                    const struct match_context* context) {
  return filter->kind != PROFD_TARGET_TID &&
         (!context->new_process || (filter->flags & PROFD_TARGET_CHILDREN));
}

static long match_session(u32 session, struct match_context* context) {
  struct ancestor_search search = {.session = session};
  u64 bit = 1ull << (session & (PROFD_MAX_SESSIONS - 1));
  if (!(context->candidates & bit)) return 0;
  search.filter = bpf_map_lookup_elem(&filters, &session);
  if (!search.filter || !may_see(search.filter, context->task)) return 0;
  if ((context->parents & bit) && inherits(search.filter, context)) {
    context->matched |= bit;
    return 0;
  }
  search.task = address_of(context->task);
  bpf_loop(MAX_ANCESTORS, search_ancestor, &search, 0);
  if (search.found) context->matched |= bit;
  return 0;
}

/*
 * Those of the candidates whose filter matches the task or, where the filter takes children, a
 * process above it; and those of its parent's that it inherits.
 */
static __always_inline u64 matching_sessions(struct match_context* context) {
  if (context->candidates) bpf_loop(PROFD_MAX_SESSIONS, match_session, context, 0);
  return context->matched;
}

/* A thread that takes another name, or moves to another cgroup, may join sessions or leave them. */
struct revision {
  struct task_struct* task;
  const char* name; /* the new one, not in task->comm yet; 0: it has moved */
  u64 candidates;
  u64 matched;
  u64 decided; /* sessions that only what has changed decides on */
};

static __always_inline int match_new_name(const struct profd_filter* filter,
                                          struct task_struct* task, const char* name) {
  char leader[PROFD_COMM_LEN];
  if (!may_match(filter, task)) return 0;
  if (same_comm(name, filter->comm)) return 1;
  if (BPF_CORE_READ(task, group_leader) == task) return 0;
  BPF_CORE_READ_INTO(&leader, task, group_leader, comm);
  return same_comm(leader, filter->comm);
}

static long reevaluate_session(u32 session, struct revision* revision) {
  u64 bit = 1ull << (session & (PROFD_MAX_SESSIONS - 1));
  u32 kind = revision->name ? PROFD_TARGET_COMM : PROFD_TARGET_CGROUP;
  struct task_struct* task = revision->task;
  struct profd_filter* filter;
  int matches;
  if (!(revision->candidates & bit)) return 0;
  filter = bpf_map_lookup_elem(&filters, &session);
  if (!filter || filter->kind != kind) return 0;
  matches = !may_see(filter, task) ? 0
            : revision->name       ? match_new_name(filter, task, revision->name)
                                   : may_match(filter, task) && match_cgroup(filter, task);
  if (matches) revision->matched |= bit;
  /* Where children count, it may be a member by birth. */
  if (!(filter->flags & PROFD_TARGET_CHILDREN)) revision->decided |= bit;
  return 0;
}

static __always_inline void reevaluate_sessions(struct revision* revision) {
  bpf_loop(PROFD_MAX_SESSIONS, reevaluate_session, revision, 0);
}
