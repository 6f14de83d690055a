/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Sizes on which the BPF side and user space must agree. */
#pragma once

/* Sessions at a time: a session is one bit of a 64 bit mask in each thread's storage. */
#define PROFD_MAX_SESSIONS 64

/* Frames kept per stack, leaf side first. What lies beyond is marked PROFD_STACK_TRUNCATED. */
#define PROFD_MAX_KERNEL_FRAMES 64
#define PROFD_MAX_USER_FRAMES 512
#define PROFD_MAX_FRAMES (PROFD_MAX_KERNEL_FRAMES + PROFD_MAX_USER_FRAMES)

/* TASK_COMM_LEN of the kernel, terminating zero included. */
#define PROFD_COMM_LEN 16

/* Bytes of a file name kept in an exec event, terminating zero included. */
#define PROFD_PATH_LEN 256

/* Levels of the cgroup tree that a cgroup filter climbs. */
#define PROFD_MAX_CGROUP_DEPTH 32

/* Pids and tids in all filters together. */
#define PROFD_MAX_FILTER_IDS 16384

/* Bytes of each ring; powers of two. One for perf-event programs, one for all others. */
#define PROFD_RING_ON_CPU_BYTES (4 << 20)
#define PROFD_RING_SCHED_BYTES (8 << 20)

/* Ring of requests for unwind tables, written by all programs. */
#define PROFD_RING_WANTED_BYTES (64 << 10)

/* So long is a thread followed that has ended a wait of a member. */
#define PROFD_FOLLOWED_NS 10000000000ull

/* A program in this many is timed, and the time multiplied by it: what profd itself costs. Power of
 * two. */
#define PROFD_COST_SAMPLING 64
