/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chance decides what is sampled. For interrupts see on_cpu_weight. For off-CPU intervals, the
 * off-CPU time of a thread is cut into periods, and each period has one sampling point at a freshly
 * drawn time. An interval is sampled once for all the points it contains, and each point represents
 * one period: every ns is equally likely to be sampled, whatever the lengths and the rhythm of the
 * intervals.
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

/* Moves the off-CPU clock on by `length` if there is no mark and no end of a period in it. */
static __always_inline int skip_points(struct thread* thread, u64 length) {
  u64 phase = thread->point_phase_ns;
  u64 end = phase + length;
  u64 next = thread->point_ns >= phase ? thread->point_ns : thread->point_period_ns - 1;
  if (end > next) return 0;
  thread->point_phase_ns = end;
  return 1;
}

/* Moves the off-CPU clock on by `length`; returns the marks passed. */
static __always_inline u32 pass_points(struct thread* thread, u64 length) {
  u64 period = thread->point_period_ns;
  u64 end = thread->point_phase_ns + length;
  u64 points, periods;
  if (end < period) {
    points = thread->point_ns >= thread->point_phase_ns && thread->point_ns < end;
    thread->point_phase_ns = end;
    return points;
  }
  if (!period) return 0;
  points = thread->point_ns >= thread->point_phase_ns;
  periods = end / period;
  thread->point_phase_ns = end - periods * period;
  thread->point_ns = draw_below(period);
  points += (periods - 1) + (thread->point_ns < thread->point_phase_ns);
  return smaller(points, 0xffffffff);
}

/* Begins again when the effective period has changed. */
static __always_inline void follow_period(struct thread* thread, u64 period) {
  if (thread->point_period_ns == period) return;
  thread->point_period_ns = period;
  thread->point_phase_ns = draw_below(period);
  thread->point_ns = draw_below(period);
}
