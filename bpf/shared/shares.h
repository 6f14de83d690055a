/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What one process, or one user, may report. A share is an amount in every second, and some more at
 * once; what is beyond it is left out by the programs before it is copied, and counted.
 */
#pragma once

#include <linux/types.h>

enum profd_share_kind {
  PROFD_SHARE_NAMES = 1,     /* of a process: new names of its threads */
  PROFD_SHARE_THREADS = 2,   /* of a process: threads that it makes */
  PROFD_SHARE_PROCESSES = 3, /* of a user: processes that it makes */
  PROFD_SHARE_WAITS = 4,     /* of a process: samples of its waits */
  /* User space keeps these: */
  PROFD_SHARE_MAPPINGS = 5,            /* of a process: mappings and execs */
  PROFD_SHARE_JIT_CODE = 6,            /* of a process: lists of code made at run time */
  PROFD_SHARE_JIT_CODE_OF_USER = 7,    /* of a user: the same, of all processes */
  PROFD_SHARE_PYTHON_CODE = 8,         /* of a process: Python code objects */
  PROFD_SHARE_PYTHON_CODE_OF_USER = 9, /* of a user: the same, of all processes */
  PROFD_SHARE_PYTHON_SEARCHES = 10,    /* of a user: programs that are searched for interpreters */
  PROFD_SHARE_DEBUG_FILES = 11,        /* of a user: debug files that are downloaded */
  /* of a process: it keeps its stacks from being read */
  PROFD_SHARE_STACKS = 12,
  PROFD_SHARE_STACKS_OF_USER = 13, /* of a user: several processes do */
  PROFD_SHARE_STEPS = 14,          /* of a process, by programs: step events */
  PROFD_SHARE_SWITCHES = 15,       /* of a process, by programs: recorded switches and wake-ups */
  PROFD_SHARE_KINDS,
};

/* Of each a second, for every 8 CPUs (profd_constants.share_scale), and at once. */
#define PROFD_NAMES_PER_SECOND 100
#define PROFD_NAMES_AT_ONCE 1000
#define PROFD_THREADS_PER_SECOND 2000
#define PROFD_THREADS_AT_ONCE 10000
#define PROFD_PROCESSES_PER_SECOND 1000
#define PROFD_PROCESSES_AT_ONCE 10000
#define PROFD_STEPS_PER_SECOND 50000
#define PROFD_STEPS_AT_ONCE 200000
#define PROFD_SWITCHES_PER_SECOND 50000
#define PROFD_SWITCHES_AT_ONCE 200000
/* Samples of waits are counted in blocks of time: so many in one, and no burst. */
#define PROFD_WAITS_BLOCK_NS 250000000
#define PROFD_WAITS_IN_BLOCK 50

/* At most so many shares are kept at a time; beyond it the one that was used longest ago goes. */
#define PROFD_MAX_SHARES 8192

/* Key of the hash map `shares`. */
struct profd_share_key {
  __u32 kind; /* enum profd_share_kind */
  __u32 id;   /* pid as in events, or uid of the initial user namespace */
};

/* Its value. Written by programs on all CPUs without a lock: a few more may pass than the share. */
struct profd_share {
  __u64 used_ns;   /* the share is used up to here, which may lie in the future; WAITS: begin of the
                      block */
  __u64 beyond_ns; /* when something was last left out; 0: never */
  __u64 beyond;    /* how much was left out */
  __u32 in_block;  /* WAITS: samples in this block, those left out included */
  __u32 halvings;  /* WAITS: of 2^halvings samples, one is taken and stands for all */
};
