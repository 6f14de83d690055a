/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The maps of hardware counters: as in maps.bpf.h, which has all others. */
#pragma once

#include "bpf/maps.bpf.h"

/* What hardware counters of one CPU showed last, and whose the time since then is. */
struct pmu_state {
  u64 busy;       /* a program uses it: on_cpu_sample may interrupt others */
  u64 task;       /* address; 0: no member has come since */
  u64 generation; /* control.pmu_generation of that reading */
  u64 time_ns;    /* of that reading; */
  u64 now_ns;     /* of the present one */
  struct bpf_perf_event_value last[PROFD_PMU_COUNTERS];
  struct bpf_perf_event_value now[PROFD_PMU_COUNTERS];
  struct profd_pmu_counts counted; /* from the one to the other */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct pmu_state);
} pmu_states SEC(".maps");

/* What hardware counters have counted for one thread. Written by the CPU that it is on; readers on
 * other CPUs retry while `sequence` is odd or has changed. */
struct pmu_thread {
  u32 sequence;
  u32 kept_number; /* of control.epoch, its lower half; 0: none yet */
  u64 kept_ns;
  struct profd_pmu_counts sums;
  struct profd_pmu_counts kept; /* as of that epoch */
};

/* Key: task. Made with the membership in a session with counters, deleted by the kernel with the
 * task. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct pmu_thread);
} pmu_threads SEC(".maps");

/* Key: CPU; as many as the host may have. Counting perf events, put there by user space while a
 * session wants them. */
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __type(key, u32);
  __type(value, u32);
} pmu_cycles SEC(".maps"), pmu_instructions SEC(".maps"), pmu_cache_misses SEC(".maps");
