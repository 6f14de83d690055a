/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * THE list of the source's counters: name, kind, description. Both sides are generated from it.
 * User space counts MMAP_LOST to MALFORMED, CLOCKS_UNREAD and BEYOND_SHARE; the BPF side counts all
 * others. Kind LOST is a sample or event that the kernel could not deliver; SKIPPED is one that it
 * decided not to take; INFO counts work. Append only: recordings have the numbers.
 */
#pragma once

#define PROFD_COUNTERS(X)                                                                          \
  X(ON_CPU_SAMPLES, INFO, "on-CPU samples written")                                                \
  X(OFF_CPU_SAMPLES, INFO, "off-CPU samples written")                                              \
  X(SWITCHES, INFO, "context switches seen")                                                       \
  X(COST_NS, INFO, "estimated ns spent in profd's BPF programs")                                   \
  X(ON_CPU_RING_FULL, LOST, "on-CPU samples lost: ring full")                                      \
  X(OFF_CPU_RING_FULL, LOST, "off-CPU samples lost: ring full")                                    \
  X(EVENT_RING_FULL, LOST, "fork, exec, exit or clock events lost: ring full")                     \
  X(STORAGE_FAILED, LOST, "threads without a clock: task storage could not be made")               \
  X(UNKNOWN_THREAD, LOST, "switches of a thread that has no clock")                                \
  X(SWITCH_IN_MISSED, INFO, "switch-ins not seen; on_cpu taken from sum_exec_runtime")             \
  X(CLOCK_WENT_BACK, INFO, "intervals of negative length, taken as zero")                          \
  X(TORN_READ, INFO, "clock readings repeated: the thread switched during every try")              \
  X(KERNEL_STACK_FAILED, INFO, "kernel stacks that could not be read")                             \
  X(USER_STACK_FAULT, INFO, "user stacks cut: memory could not be read")                           \
  X(SCRATCH_BUSY, LOST, "samples lost: scratch buffer in use by an interrupted program")           \
  X(FILTER_FULL, LOST, "filter ids that did not fit")                                              \
  X(SWITCH_OUT_MISSED, INFO, "switch-outs not seen; on_cpu taken from sum_exec_runtime")           \
  X(MMAP_LOST, LOST, "new mappings lost: side-band ring full")                                     \
  X(PROCESS_GONE, INFO, "processes that ended before /proc could be read")                         \
  X(SNAPSHOT_TIMEOUT, LOST, "snapshots given up: a thread's memory could not be read in time")     \
  X(MALFORMED, LOST, "events of impossible size discarded")                                        \
  X(USER_STACKS, INFO, "user stacks walked")                                                       \
  X(USER_STACK_COMPLETE, INFO, "user stacks that reach their root")                                \
  X(USER_STACK_NOT_READY, INFO, "user stacks cut: unwind tables not loaded yet")                   \
  X(USER_STACK_TRUNCATED, INFO, "user stacks cut: deeper than what is kept")                       \
  X(USER_STACK_BROKEN, INFO, "user stacks cut: a frame that cannot be followed")                   \
  X(USER_STACK_UNCERTAIN, INFO, "user stacks with frames by frame pointer")                        \
  X(MAPPING_FAILED, INFO, "mappings that changed while they were looked up")                       \
  X(TABLES_WANTED, INFO, "requests for unwind tables")                                             \
  X(TABLES_WANTED_LOST, INFO, "requests for unwind tables lost: ring full")                        \
  X(CLOCKS_UNREAD, LOST, "threads whose clock could not be read")                                  \
  X(STACKS_NS, INFO, "of the ns spent in profd's BPF programs, those for samples")                 \
  X(CLOCKS_BY_KERNEL_ACCOUNTING, INFO, "thread clocks read from kernel accounting: snapshot mode") \
  X(BACKGROUND_STACKS_NS, INFO, "of the ns for samples, those of threads no client has requested") \
  X(BEYOND_SHARE, INFO,                                                                            \
    "mappings and execs beyond what one process may report; it is read in /proc instead")          \
  X(THREADS_BEYOND_SHARE, LOST,                                                                    \
    "short threads left out: beyond what one process, or one user, may make")                      \
  X(THREADS_BEYOND_SHARE_TIME, INFO, "CPU time of the short threads left out, ns")                 \
  X(NAMES_BEYOND_SHARE, INFO, "names of threads left out: beyond what one process may report")     \
  X(WAITS_BEYOND_SHARE, INFO,                                                                      \
    "samples of waits left out: beyond what one process may have; others stand for them")          \
  X(VISITS, INFO, "threads visited by observers")                                                  \
  X(STACKS_MOVED, INFO, "threads that moved while an observer read their stack")                   \
  X(RECENT_FULL, INFO,                                                                             \
    "visits of observers left out, or once a second only: too many threads have switched")         \
  X(STOLEN_NS, INFO, "time that interrupts and the hypervisor took from CPUs, ns")                 \
  X(WAKERS, INFO, "wake-ups captured, of waits with a sampling point")                             \
  X(WAKERS_RING_FULL, LOST, "wake-ups lost: ring full")                                            \
  X(LABELS_UNREADABLE, INFO, "samples without labels: memory could not be read")                   \
  X(STEPS, INFO, "step events written")                                                            \
  X(STEPS_RING_FULL, LOST, "step events lost: ring full")                                          \
  X(STEPS_BEYOND_SHARE, LOST, "step events left out: beyond what one process may report")          \
  X(SWITCHES_RECORDED, INFO, "switches and wake-ups recorded")                                     \
  X(SWITCHES_RING_FULL, LOST, "switches and wake-ups lost: ring full")                             \
  X(SWITCHES_BEYOND_SHARE, LOST,                                                                   \
    "switches and wake-ups left out: beyond what one process may report")                          \
  X(PMU_SHARED, INFO,                                                                              \
    "spans of CPU time in which others used the hardware counters, too: counts are scaled")        \
  X(PMU_NOT_COUNTED, INFO,                                                                         \
    "spans of CPU time without counts: hardware counters were in use by others, or not read")

#define PROFD_COUNTER_ENUM(name, kind, text) PROFD_COUNTER_##name,
enum profd_counter { PROFD_COUNTERS(PROFD_COUNTER_ENUM) PROFD_COUNTER_MAX };
#undef PROFD_COUNTER_ENUM
