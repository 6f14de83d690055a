/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all events begin with, their kinds, and the version of the format; events.h. */
#pragma once

#include <linux/types.h>

#ifdef __cplusplus
#define PROFD_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define PROFD_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* Written into recordings; raised with every incompatible change. */
#define PROFD_EVENTS_VERSION 6
/* The oldest one that readers know: its clocks have no stolen_ns. Samples of 2 and 3 end before
 * followed_sessions, clock events of 2 to 4 before own_tid, those of 5 before moves_at_epoch. */
#define PROFD_EVENTS_VERSION_OLDEST 2

enum profd_event_kind {
  /* From BPF rings. */
  PROFD_EVENT_ON_CPU = 1,     /* struct profd_sample_event */
  PROFD_EVENT_OFF_CPU = 2,    /* struct profd_sample_event */
  PROFD_EVENT_THREAD_END = 3, /* struct profd_clock_event: final totals, from the last switch */
  PROFD_EVENT_FORK = 4,       /* struct profd_task_event: a new thread or process */
  PROFD_EVENT_EXEC = 5,       /* struct profd_task_event */
  PROFD_EVENT_COMM = 6,       /* struct profd_task_event */
  PROFD_EVENT_EXIT = 7,       /* struct profd_task_event: sched_process_exit of one thread */
  /* From task iterators. */
  PROFD_EVENT_CLOCK = 8,    /* struct profd_clock_event: totals as of an epoch */
  PROFD_EVENT_SNAPSHOT = 9, /* struct profd_sample_event: stack of a thread that is blocked */
  /* From a BPF ring. */
  PROFD_EVENT_WAKER = 10,  /* struct profd_sample_event: who ends the wait of another thread */
  PROFD_EVENT_STEP = 11,   /* struct profd_step_event: a thread is where a step begins */
  PROFD_EVENT_SWITCH = 12, /* struct profd_switch_event: a thread is back on a CPU */
  PROFD_EVENT_WAKE = 13,   /* struct profd_wake_event: a thread ends the wait of another one */
  PROFD_EVENT_PMU = 14,    /* struct profd_pmu_event: what hardware counters count for a thread */
  /* Made by the source in user space, so that recordings have them, too. */
  PROFD_EVENT_MMAP = 16,           /* struct profd_mmap_event: from perf side-band records */
  PROFD_EVENT_PROCESS = 17,        /* struct profd_process_event: what /proc said */
  PROFD_EVENT_SESSION_START = 18,  /* struct profd_session_event */
  PROFD_EVENT_SESSION_END = 19,    /* struct profd_session_event: all its events stand before it */
  PROFD_EVENT_COUNTERS = 20,       /* struct profd_counters_event */
  PROFD_EVENT_PYTHON_PROCESS = 21, /* struct profd_python_process_event: an interpreter was found */
  PROFD_EVENT_PYTHON_CODE = 22,    /* struct profd_python_code_event: before samples that need it */
  PROFD_EVENT_PERIODS = 23,        /* struct profd_periods_event: effective from now on */
  PROFD_EVENT_BEYOND_SHARE = 24,   /* struct profd_beyond_share_event: before SESSION_END */
  PROFD_EVENT_LABEL_PROCESS = 25,  /* struct profd_label_process_event: its threads have labels */
  PROFD_EVENT_STEP_SOURCE = 26,    /* struct profd_step_source_event: what is watched for steps */
};

/* Every event starts with this. */
struct profd_event {
  __u16 kind;    /* enum profd_event_kind */
  __u16 flags;   /* by kind: PROFD_SAMPLE_*, PROFD_TASK_*; else 0 */
  __u32 size;    /* of the whole event with its tail, bytes */
  __u64 time_ns; /* when it happened */
  __u32 pid;
  __u32 tid;
  __u64 process_start_ns; /* 0: not known (MMAP) */
  __u64 thread_start_ns;
  __u64 sessions; /* bit i: the thread belongs to session i */
  __u32 cpu;
  __u32 kept; /* PACKED samples: bit i: word i behind this header is there; else 0 */
};

PROFD_STATIC_ASSERT(sizeof(struct profd_event) == 56, "profd_event");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_event, time_ns) == 8, "time_ns");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_event, sessions) == 40, "sessions");
