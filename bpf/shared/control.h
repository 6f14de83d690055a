/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How user space controls the programs: constants that are fixed at load, and words in mapped
 * memory that it changes while they run. Only user space writes them, but for the last ones; every
 * program reads them.
 */
#pragma once

#include <linux/types.h>

#include "bpf/shared/limits.h"
#include "bpf/shared/observer.h"

/* Processes whose memory snapshots leave alone at a time. */
#define PROFD_MAX_UNREADABLE 64
#define PROFD_MAX_UNREADABLE_USERS 8

/* The level of hooks that is used for switch-in. */
enum profd_hook {
  PROFD_HOOK_SCHED_EXIT = 1,  /* tp_btf/sched_exit_tp */
  PROFD_HOOK_FINISH_TASK = 2, /* kprobe on finish_task_switch*, verified by hits */
  PROFD_HOOK_NONE = 4,        /* snapshot mode */
};

/* Where the split of off-CPU time into blocked and runnable comes from. */
enum profd_split {
  PROFD_SPLIT_RUN_DELAY = 1, /* growth of the kernel's own sched_info.run_delay */
  PROFD_SPLIT_WAKEUP = 2,    /* time stamps of wake-up hooks (no CONFIG_SCHED_INFO) */
};

/* Fixed at load (.rodata). */
struct profd_constants {
  __u32 hook;        /* enum profd_hook */
  __u32 split;       /* enum profd_split */
  __u32 own_pid;     /* tgid of profd, in profd's pid namespace; sampled only when named */
  __u32 pidns_level; /* level of profd's pid namespace; 0 = initial one */
  __u32 pidns_inum;  /* inode number of profd's pid namespace; 0 = compare by level only */
  __u32 share_scale; /* how much shares are multiplied by, at least 1; shares.h */
  __u64 point_seed;  /* of the sampling points; points.h */
  __u32 places;      /* 1: user space has said where CPUs are */
  __u32 reserved;
};

#define PROFD_STOLEN_SHIFT 20

/*
 * An epoch is an instant at which all clocks are read. User space sets epoch_ns a little into
 * the future, then raises epoch; a program that closes an interval across epoch_ns first keeps the
 * totals as of epoch_ns in the thread's storage. So every thread is read as of the same instant,
 * however long the reading takes.
 */
struct profd_control {
  __u64 epoch;
  __u64 epoch_ns;
  __u64 sessions;           /* running sessions; bits not set here are stale and ignored */
  __u64 on_cpu_sessions;    /* of those, with on-CPU samples */
  __u64 off_cpu_sessions;   /* of those, with off-CPU samples */
  __u64 off_cpu_level;      /* of the sampling points of threads of `requested_sessions`, effective;
                               points.h; 0 = no off-CPU samples */
  __u64 starting_sessions;  /* the assign iterator evaluates these filters */
  __u64 snapshot_sessions;  /* the snapshot iterator walks threads of these ... */
  __u64 snapshot_before_ns; /* ... that have been blocked since before this; not for dumps */
  __u64 python_processes;   /* entries of the map of that name; 0: no thread has Python frames */
  __u64 label_processes;    /* the same of that map: threads have no labels */
  __u64
      tick; /* seconds, for unwind tables' last use; 0: there are no tables, frame pointers only */
  __u64 dump_sessions;      /* of these, the snapshot iterator reports threads in every state */
  __u64 snapshot_since_ns;  /* threads blocked since before this were reported; not for dumps */
  __u64 confined_sessions;  /* of `sessions`, those with PROFD_TARGET_OF_USER */
  __u64 requested_sessions; /* of `sessions`; the others are background sessions */
  /* Threads of none of those are sampled at periods of their own: */
  __u64 background_off_cpu_level; /* 0 = no off-CPU samples */
  __u64 background_on_cpu_period; /* in the events' units; 0 = no longer than theirs */
  __u64
      observed_sessions;  /* of `sessions`, those in snapshot mode: no hook samples their threads */
  __u64 visited_sessions; /* of these, those whose threads observers visit: not dumps */
  /* Of these, those that follow no other one: they have no stack of a thread until it is read. */
  __u64 first_sessions;
  __u64 waker_sessions;  /* of `sessions`, those that want to know who ends waits */
  __u64 switch_sessions; /* of `sessions`, those that record every switch and wake-up */
  __u64 pmu_sessions;    /* of `sessions`, those for which hardware counters count */
  __u64 pmu_counters;    /* bit i: enum profd_pmu_counter i is there to be read */
  __u64 pmu_generation;  /* raised each time the counters are opened */
  /* Where the kernel's entries of interrupts lie, without those of exceptions; both 0: not known.
   */
  __u64 interrupts_begin;
  __u64 interrupts_end;
  /* Raised each time the switch hooks are attached: clocks of earlier generations have stood still.
   */
  __u64 clock_generation;
  __u64 exit_slot;       /* 0 or 1: where threads that begin to exit are counted */
  __u64 shared_sessions; /* of `sessions`, those whose processes have a share of samples of waits */
  /* Snapshot mode: what all CPUs lose (enum profd_stolen), in 2^-PROFD_STOLEN_SHIFT of their run
   * time. */
  __u64 stolen_ratio;
  /* Reading memory of another process may never end. Numbers are those of the initial pid
   * namespace. */
  __u32 unreadable_pids[PROFD_MAX_UNREADABLE]; /* the snapshot iterator does not read these; 0 =
                                                  none */
  __u32 unreadable_users[PROFD_MAX_UNREADABLE_USERS]; /* nor processes of these; 0 = none */
  __u32 reads;                                        /* enum profd_reads */
  /* Written by programs: the process whose memory one reads now, 0 = none. */
  __u32 reads_pid;                   /* the snapshot iterator */
  __u32 observes_pid[PROFD_STREAMS]; /* the observers */
};

/* Whose memory the snapshot iterator reads. */
enum profd_reads { PROFD_READS_ALL, PROFD_READS_OF_ROOT, PROFD_READS_NONE };

enum profd_target_kind {
  PROFD_TARGET_ALL = 1,
  PROFD_TARGET_PID = 2,
  PROFD_TARGET_TID = 3,
  PROFD_TARGET_COMM = 4,
  PROFD_TARGET_CGROUP = 5
};

#define PROFD_TARGET_CHILDREN 1       /* processes forked by members become members */
#define PROFD_TARGET_KERNEL_THREADS 2 /* ALL and COMM: also kernel threads */
#define PROFD_TARGET_OF_USER 4 /* of all these, only threads that user `uid` owns exclusively */

/* Value of the array map `filters`, indexed by session. */
struct profd_filter {
  __u32 kind;       /* enum profd_target_kind; 0 = slot not in use */
  __u32 flags;      /* PROFD_TARGET_* */
  __u32 pidns_inum; /* pid namespace in which the ids of filter_ids are meant; 0 = profd's own */
  __u32 uid;        /* with PROFD_TARGET_OF_USER; as the initial user namespace has it */
  __u64 cgroup_id;  /* inode number of the cgroup v2 directory */
  char comm[PROFD_COMM_LEN];
};

/* Key of the hash map `filter_ids`; the value is one byte, 1. */
struct profd_filter_id {
  __u32 session;
  __u32 id; /* pid for PROFD_TARGET_PID, tid for PROFD_TARGET_TID */
};
