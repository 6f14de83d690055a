/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Snapshot mode: threads are visited at sampling points instead of being followed by hooks.
 *
 * A thread is visited from another CPU than its own: on its own CPU the observer displaces it. So
 * there are two streams of passes, on two CPUs. Stream 0 visits all threads but those of its own
 * CPU; stream 1 visits those. Passes at one instant would displace what the other one visits, so
 * stream 1 has the same points, later by PROFD_STREAM_SHIFT_NS.
 *
 * Threads that have switched lately are visited at each point. All others are visited once in a
 * long period, at the point of the level PROFD_LONG_LEVEL, and this visit represents the whole long
 * period. Which of the two a thread is, is settled before the long period begins, by what was seen
 * before: so every ns is as likely to be visited as any other, by weight.
 */
#pragma once

#include <linux/types.h>

#define PROFD_STREAMS 2
#define PROFD_LONG_LEVEL 30 /* 1.07 s; points.h */
#define PROFD_STREAM_SHIFT_NS (1ull << 25)

/* Threads that are visited at each point of a long period, in each stream. */
#define PROFD_MAX_RECENT 4096
/* Threads whose stacks one pass reads. */
#define PROFD_MAX_READ 16384

/* The context of the program `observe`: one pass of a stream. */
struct profd_pass {
  __u64 point_ns;       /* identifies the pass */
  __u64 weight_ns;      /* of a visit to a thread that has switched lately */
  __u64 long_weight_ns; /* of a visit to all others; 0: they are not visited */
  __u32 stream;
  __u32 cpu;         /* of stream 0 */
  __u32 long_period; /* in which the point lies: its number, lower half */
  __u32 reserved;
};
