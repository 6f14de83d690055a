/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What is sampled. For interrupts see on_cpu_weight. An off-CPU interval is sampled once for all
 * the sampling points (bpf/shared/points.h) that it contains, and each point represents one period:
 * every ns is equally likely to be sampled, whatever the lengths and the rhythm of the intervals.
 */
#pragma once

#include "bpf/thread/clock.bpf.h"

/* Uniform in [0, range). */
static __always_inline u64 draw_below(u64 range) {
  u64 random = bpf_get_prandom_u32();
  return (range >> 32) * random + (((range & 0xffffffff) * random) >> 32);
}

/*
 * The time that the interrupt represents; 0: it is not sampled. Events may tick more often than a
 * background session needs. Then interrupts of its threads are drawn by chance, so every ns is as
 * likely as before to be in a sample.
 */
static __always_inline u64 on_cpu_weight(u64 sessions, u64 ticked_ns) {
  u64 period = is_requested(sessions) ? 0 : control.background_on_cpu_period;
  if (period <= ticked_ns) return ticked_ns;
  return draw_below(period) < ticked_ns ? period : 0;
}

/* The point of one period. A global function: the verifier checks it once. */
__noinline u64 point_of(u32 level, u64 period) {
  return profd_point(constants.point_seed, smaller(level, PROFD_COARSEST_LEVEL), period);
}

static __always_inline u64 points_before(u32 level, u64 time_ns) {
  u64 period = time_ns >> (level & 63);
  return period + (point_of(level, period) < time_ns);
}

/* Makes it the one around `time_ns`, so that it lies in (after_ns, until_ns]. */
static __always_inline void move_gap(struct point_gap* gap, u32 level, u64 time_ns) {
  u64 period = time_ns >> (level & 63);
  u64 point = point_of(level, period);
  gap->level = level;
  if (point < time_ns) {
    gap->after_ns = point;
    gap->until_ns = point_of(level, period + 1);
  } else {
    gap->after_ns = period ? point_of(level, period - 1) : 0;
    gap->until_ns = point;
  }
}

/*
 * Counts the points of an interval that is not known to have none: those of its runnable part in
 * the lower half, of its blocked part in the upper one. Values as arguments: where no point is due,
 * which is nearly always, the interval need not be in memory. A global function: as above.
 */
__noinline u64 find_points(struct point_gap* gap, u32 level, u64 begin_ns, u64 end_ns,
                           u64 runnable_ns) {
  u64 woken_ns, first, woken, last;
  if (!gap || !level || end_ns <= begin_ns) return 0;
  if (gap->level != level || end_ns <= gap->after_ns || end_ns > gap->until_ns)
    move_gap(gap, level, end_ns);
  if (begin_ns > gap->after_ns) return 0;
  woken_ns = end_ns - smaller(runnable_ns, end_ns - begin_ns);
  first = points_before(level, begin_ns);
  last = points_before(level, end_ns);
  woken = woken_ns == end_ns ? last : woken_ns == begin_ns ? first : points_before(level, woken_ns);
  return smaller(woken - first, 0xffffffff) << 32 | smaller(last - woken, 0xffffffff);
}

/*
 * Counts the sampling points in an interval of a member of `sessions`; 0: it is not sampled. Nearly
 * always the interval lies between two points that follow each other, which the CPU has kept.
 */
static __always_inline struct points* count_points(struct switch_state* state, u64 sessions,
                                                   const struct interval* interval) {
  int requested = is_requested(sessions);
  u64 level = requested ? control.off_cpu_level : control.background_off_cpu_level;
  struct point_gap* gap = requested ? &state->gap : &state->background_gap;
  u64 found;
  if (gap->level == level && interval->begin_ns > gap->after_ns &&
      interval->end_ns <= gap->until_ns)
    return 0;
  found = find_points(gap, level, interval->begin_ns, interval->end_ns, interval->runnable_ns);
  if (!found) return 0;
  state->points.blocked = found >> 32;
  state->points.runnable = found;
  state->points.level = level;
  state->points.halvings = 0;
  return &state->points;
}
