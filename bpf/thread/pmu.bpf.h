/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Hardware counters (bpf/shared/pmu.h): readings of one CPU, and the sums of threads. Only while a
 * session wants them, and only for its members: elsewhere nothing of this runs. What a program of
 * profd does between two readings is not counted: the hooks of a switch read first when a thread
 * leaves and last when it comes, and a sample reads before it takes the stack, and after it.
 */
#pragma once

#include "bpf/thread/pmu_maps.bpf.h"

static __always_inline struct pmu_state* this_pmu(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&pmu_states, &zero);
}

/* 0: it is in use by a program that this one interrupts. */
static __always_inline int take_pmu(struct pmu_state* state) {
  if (state->busy) return 0;
  state->busy = 1;
  barrier();
  return 1;
}

static __always_inline void release_pmu(struct pmu_state* state) {
  barrier();
  state->busy = 0;
}

#define READ_COUNTER(counter, map)                                               \
  if ((control.pmu_counters & (1ull << (counter))) &&                            \
      bpf_perf_event_read_value(&(map), BPF_F_CURRENT_CPU, &state->now[counter], \
                                sizeof(state->now[counter])))                    \
  return 0

/* Reads the counters of this CPU. 0: one could not be read. A global function: the verifier checks
 * it once in a program. */
__noinline int read_counters(struct pmu_state* state) {
  if (!state) return 0;
  READ_COUNTER(PROFD_PMU_CYCLES, pmu_cycles);
  READ_COUNTER(PROFD_PMU_INSTRUCTIONS, pmu_instructions);
  READ_COUNTER(PROFD_PMU_CACHE_MISSES, pmu_cache_misses);
  state->now_ns = bpf_ktime_get_ns();
  return 1;
}

/* From here on this CPU's counters count for `task`. */
static __always_inline void begin_span(struct pmu_state* state, u64 task) {
  for (int i = 0; i < PROFD_PMU_COUNTERS; i++) state->last[i] = state->now[i];
  state->time_ns = state->now_ns;
  state->generation = control.pmu_generation;
  state->task = task;
}

/* Shares are kept to 2^-16; beyond this a counter has hardly counted at all. */
#define SHARE_SHIFT 16
#define LEAST_SHARE 256

/*
 * What one counter has counted between two readings. Where the kernel had to divide the hardware
 * counters among more events than there are, it has counted for a part of the time, and the count
 * is scaled. 0: for too small a part.
 */
static __always_inline int count_between(const struct bpf_perf_event_value* last,
                                         const struct bpf_perf_event_value* now, u64* count,
                                         int* shared) {
  u64 enabled = now->enabled - last->enabled, running = now->running - last->running;
  u64 times;
  *count = now->counter - last->counter;
  if (running >= enabled) return 1;
  if (enabled >> 48 || running < enabled / LEAST_SHARE || !running) return 0;
  times = (enabled << SHARE_SHIFT) / running;
  *count = (*count >> SHARE_SHIFT) * times + (((*count & 0xffff) * times) >> SHARE_SHIFT);
  *shared = 1;
  return 1;
}

/* Makes `counted` of the two readings. 0: some counter did not count. */
__noinline int make_counted(struct pmu_state* state) {
  int shared = 0;
  if (!state) return 0;
  for (int i = 0; i < PROFD_PMU_COUNTERS; i++) {
    state->counted.counts[i] = 0;
    if ((control.pmu_counters & (1ull << i)) &&
        !count_between(&state->last[i], &state->now[i], &state->counted.counts[i], &shared))
      return 0;
  }
  state->counted.counted_ns = state->now_ns - state->time_ns;
  if (shared) count(PROFD_COUNTER_PMU_SHARED);
  return 1;
}

static __always_inline void add_counts(const struct profd_pmu_counts* counted,
                                       struct profd_pmu_counts* sums) {
  sums->counted_ns += counted->counted_ns;
  for (int i = 0; i < PROFD_PMU_COUNTERS; i++) sums->counts[i] += counted->counts[i];
}

/* What was counted belongs to where the span ends: after an epoch, or before it. */
static __always_inline void add_span(struct pmu_thread* thread,
                                     const struct profd_pmu_counts* counted, u64 now_ns) {
  thread->sequence++;
  barrier();
  if (thread->kept_number != (u32)control.epoch && now_ns >= control.epoch_ns) {
    thread->kept = thread->sums;
    thread->kept_ns = control.epoch_ns;
    thread->kept_number = control.epoch;
  }
  add_counts(counted, &thread->sums);
  barrier();
  thread->sequence++;
}

/*
 * Ends the span of `task`, and adds it to its thread. 0: there is none, or its counts are not
 * known; else they are in `counted`. Afterwards no span is open. A global function, as above.
 */
__noinline int end_span(struct pmu_state* state, struct pmu_thread* thread, u64 task) {
  u64 of;
  if (!state || !thread) return 0;
  of = state->task;
  state->task = 0;
  if (of != task || state->generation != control.pmu_generation) return 0;
  if (!read_counters(state) || !make_counted(state)) {
    count(PROFD_COUNTER_PMU_NOT_COUNTED);
    return 0;
  }
  add_span(thread, &state->counted, state->now_ns);
  return 1;
}

/* From here on what this CPU's counters count is the task's. */
static __always_inline void open_span(struct pmu_state* state, u64 task) {
  if (!state || !take_pmu(state)) return;
  state->task = 0;
  if (read_counters(state))
    begin_span(state, task);
  else
    count(PROFD_COUNTER_PMU_NOT_COUNTED);
  release_pmu(state);
}

/* Up to here; 1: it is in `counted`, too. */
static __always_inline int close_span(struct pmu_state* state, struct pmu_thread* thread, u64 task,
                                      struct profd_pmu_counts* counted) {
  int known;
  if (!state || !thread || !take_pmu(state)) return 0;
  known = end_span(state, thread, task);
  if (known && counted) *counted = state->counted;
  release_pmu(state);
  return known;
}

#define PMU_READ_TRIES 4

/* A copy of a thread's sums as of the present epoch, which has passed, and as they are. 0: they
 * changed during every try. */
static __always_inline int read_sums(const struct pmu_thread* thread, struct profd_pmu_event* to) {
  for (int i = 0; i < PMU_READ_TRIES; i++) {
    u32 sequence = *(volatile const u32*)&thread->sequence;
    barrier();
    to->final = thread->sums;
    to->at_epoch = thread->kept_number == (u32)control.epoch ? thread->kept : thread->sums;
    barrier();
    if (!(sequence & 1) && sequence == *(volatile const u32*)&thread->sequence) return 1;
  }
  return 0;
}
