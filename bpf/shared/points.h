/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sampling points: instants at which every thread of the host is looked at, the same for all CPUs.
 * They are a pure function of time and of a seed.
 *
 * CLOCK_MONOTONIC is cut into periods of 2^level ns, and each has one point. At the finest level
 * the point is any ns of its period, as drawn. At all others it is the point of one of the period's
 * two halves, which are periods of the level below: which one is drawn, too. So
 * - every ns of a period is its point with the same chance,
 * - points of periods that do not overlap are independent of each other, and
 * - a point of a level is a point of each finer one.
 * A draw is a hash of the period.
 */
#pragma once

#include <linux/types.h>

#define PROFD_FINEST_LEVEL 10   /* 1 us; its periods fit in 54 bits */
#define PROFD_COARSEST_LEVEL 42 /* 73 minutes */

/* 64 random bits: the output of splitmix64 at a place that no other period has. */
static inline __u64 profd_draw(__u64 seed, __u32 level, __u64 period) {
  __u64 bits = seed + (period << 6 | level) * 0x9e3779b97f4a7c15ull;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
  return bits ^ bits >> 31;
}

/* The point of the period [period << level, (period + 1) << level). Levels are within the limits.
 */
static inline __u64 profd_point(__u64 seed, __u32 level, __u64 period) {
  for (; level > PROFD_FINEST_LEVEL; level--)
    period = period << 1 | profd_draw(seed, level, period) >> 63;
  return period << PROFD_FINEST_LEVEL |
         profd_draw(seed, PROFD_FINEST_LEVEL, period) >> (64 - PROFD_FINEST_LEVEL);
}

/* The level whose period is nearest to this one, by ratio. */
static inline __u32 profd_nearest_level(__u64 period_ns) {
  __u32 level = PROFD_FINEST_LEVEL;
  /* Half way is the square root of 2: 99 / 70. */
  while (level < PROFD_COARSEST_LEVEL && period_ns > (99ull << level) / 70) level++;
  return level;
}

/* The finest level whose period is not shorter, or the coarsest one. */
static inline __u32 profd_level_not_below(__u64 period_ns) {
  __u32 level = PROFD_FINEST_LEVEL;
  while (level < PROFD_COARSEST_LEVEL && 1ull << level < period_ns) level++;
  return level;
}

/* How many points lie before `time_ns`. */
static inline __u64 profd_points_before(__u64 seed, __u32 level, __u64 time_ns) {
  __u64 period = time_ns >> level;
  return period + (profd_point(seed, level, period) < time_ns);
}

/* How many points lie in [begin_ns, end_ns). */
static inline __u64 profd_points_in(__u64 seed, __u32 level, __u64 begin_ns, __u64 end_ns) {
  if (end_ns <= begin_ns) return 0;
  return profd_points_before(seed, level, end_ns) - profd_points_before(seed, level, begin_ns);
}
