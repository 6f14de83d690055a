/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * THE wire format between the BPF side and user space, and of event frames in recordings.
 *
 * Rules: plain C with fixed-width types; 8-byte groups, explicit padding; the common header first;
 * at most one variable tail, last, with its length in the fixed part; kinds are append-only. `pid`
 * is the kernel's tgid and `tid` the kernel's pid, both as seen in the pid namespace profd runs in.
 * Times are CLOCK_MONOTONIC ns. Start times are the task's start_boottime in ns: they make pid and
 * tid unique.
 */
#pragma once

#include <linux/types.h>

#include "bpf/shared/clock.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/event_header.h"
#include "bpf/shared/labels.h"
#include "bpf/shared/limits.h"
#include "bpf/shared/pmu.h"
#include "bpf/shared/python_layout.h"
#include "bpf/shared/shares.h"
#include "bpf/shared/steps.h"
#include "bpf/shared/switches.h"

/* flags of clock events: of sessions in snapshot mode, whose totals are the kernel's own sums;
 * kinds of blocked and runnable are not known. */
#define PROFD_CLOCK_OBSERVED 1
#define PROFD_CLOCK_FREED 2 /* THREAD_END: the end was reported before, and lies somewhat later */
#define PROFD_CLOCK_MOVES 4 /* migrations are counted by distance; else moves_* are 0 */

/*
 * CLOCK: `at_epoch` holds the totals as of `epoch_ns`, `final` equals it.
 * THREAD_END: `final` are the totals at the end (OBSERVED: which is begin_ns + their sum; the end
 * of a thread may be reported once more, somewhat later); `at_epoch` those as of the last epoch the
 * thread has passed (epoch 0: none, then `at_epoch` is all zero and the thread began after every
 * epoch). A thread that joins sessions while they run sends CLOCK with its totals of that moment,
 * `epoch_ns`, under the number of the last epoch; one that leaves them while it lives sends
 * THREAD_END to them.
 */
struct profd_clock_event {
  struct profd_event event;
  __u64 epoch; /* number of the epoch of `at_epoch` */
  __u64 epoch_ns;
  __u64 begin_ns; /* when the clock began: the fork, or the first reading of an older thread */
  union {
    __u64 since_ns; /* when the present state began (blocked and runnable: the switch-out) */
    __u64 held_ns;  /* OBSERVED: as of the sample */
  };
  __u32 state; /* enum profd_thread_state as of the epoch */
  union {
    __u32 stack_number; /* OBSERVED: of the thread's last stack */
    __u32 number;       /* of the thread's last OFF_CPU sample when the clock was read; 0: none */
  };
  struct profd_clock at_epoch;
  struct profd_clock final;
  char comm[PROFD_COMM_LEN];
  __u32 own_tid; /* as the thread's own pid namespace has it, where that is not profd's; else 0 */
  __u32 reserved;
  struct profd_moves moves_at_epoch;
  struct profd_moves moves_final;
};

/* flags of sample events */
#define PROFD_SAMPLE_INTERRUPT                                                                    \
  1                              /* WAKER: an interrupt; the thread of that CPU has no part in it \
                                  */
#define PROFD_SAMPLE_IOWAIT 2    /* the task was in_iowait when it left the CPU */
#define PROFD_SAMPLE_PREEMPTED 4 /* it did not block: all of it is runnable */
#define PROFD_SAMPLE_YIELDED 8
#define PROFD_SAMPLE_USER_MODE 16 /* on-CPU: the interrupted instruction is user code */
#define PROFD_SAMPLE_KTHREAD 32
/* SNAPSHOT of a dump; with PREEMPTED or YIELDED it is as those say. */
#define PROFD_SAMPLE_RUNNING 64     /* on a CPU since begin_ns: it has no frames */
#define PROFD_SAMPLE_WOKEN 128      /* it has slept since begin_ns and waits for a CPU by now */
#define PROFD_SAMPLE_BACKGROUND 256 /* of a thread that no client has requested, at its periods */
#define PROFD_SAMPLE_PACKED 512     /* words of 0 are left out, the tail is made of units */
/* OFF_CPU, 5 bits: beyond the share of its process a sample stands for 2^h, in period_ns, too */
#define PROFD_SAMPLE_HALVINGS_SHIFT 10
#define PROFD_SAMPLE_HALVINGS_MASK 31
/* ON_CPU: whether another thread ran on the next CPU of the same core; neither: not known. */
#define PROFD_SAMPLE_SIBLING_IDLE 1024
#define PROFD_SAMPLE_SIBLING_BUSY 2048
#define PROFD_SAMPLE_COUNTED 4096 /* ON_CPU: it has a struct profd_pmu_counts (pmu.h) */
/* OFF_CPU of sessions in snapshot mode: an observer has found the thread so at time_ns. */
#define PROFD_SAMPLE_OBSERVED 32768

/* stack_flags */
#define PROFD_STACK_KERNEL_TRUNCATED 1
#define PROFD_STACK_USER_TRUNCATED 2
#define PROFD_STACK_USER_FAULT 4 /* the walk ended on memory that could not be read */
#define PROFD_STACK_KERNEL_FAILED 8
#define PROFD_STACK_NO_USER 16 /* kernel thread, no user registers, or no user memory any more */
/* The user stack reaches its root; else one of those below says why not. */
#define PROFD_STACK_COMPLETE 32
#define PROFD_STACK_TABLES_NOT_READY 64   /* the rules for the last frame are not loaded yet */
#define PROFD_STACK_UNCERTAIN 128         /* frames from `uncertain_from` on: by frame pointer */
#define PROFD_STACK_NO_MAPPING 256        /* the last frame lies in no executable mapping */
#define PROFD_STACK_REGISTER_LOST 512     /* its rule needs a register that is not known */
#define PROFD_STACK_NO_PROGRESS 1024      /* its caller's frame would not lie above its own */
#define PROFD_STACK_NO_FRAME_POINTER 2048 /* no rules, and no frame pointer that could be one */
#define PROFD_STACK_32_BIT 4096           /* 32-bit code: only the program counter is kept */
/* OBSERVED: the thread moved while its stack was read. What it waited in is known, the stack is
 * not; only the user's program counter is kept. */
#define PROFD_STACK_MOVED 8192

/* uncertain_from of a stack without such frames. */
#define PROFD_ALL_CERTAIN 0xffff

/* Added to a user frame that is no return address though it is not the first one: where a signal is
 * returned from, and what it interrupted. No user address has this bit. */
#define PROFD_FRAME_EXACT (1ull << 63)

/* Words of the second tail: a user frame's index, and the CFA with which it was left. */
#define PROFD_CFA_INDEX_SHIFT 48

/* Bits of differences that one unit and two units of a packed tail hold. */
#define PROFD_UNIT_BITS 14
#define PROFD_TWO_UNITS_BITS 29

/* What a file descriptor in the first syscall argument is. */
enum profd_fd_kind {
  PROFD_FD_NONE,
  PROFD_FD_OTHER,
  PROFD_FD_REGULAR,
  PROFD_FD_BLOCK,
  PROFD_FD_CHAR,
  PROFD_FD_PIPE,
  PROFD_FD_SOCKET,
  PROFD_FD_EVENTFD,
  PROFD_FD_TIMERFD,
  PROFD_FD_SIGNALFD,
  PROFD_FD_DIRECTORY
};

/*
 * ON_CPU: `period_ns` is the weight, the counts of points are 0, begin_ns is 0.
 * OFF_CPU: the interval [begin_ns, event.time_ns): blocked first, then `runnable_ns` of runnable.
 * A sampling point represents `period_ns`; those in the blocked and in the runnable part are
 * counted apart. SNAPSHOT: [begin_ns, epoch) is blocked, time_ns is when the stack was read; of a
 * dump: begin_ns is when the state at time_ns began.
 *
 * OFF_CPU, OBSERVED: the thread was off the CPU at time_ns, and this is its stack number
 * `stack_number`, counted from 1. It represents `period_ns`; it is runnable with WOKEN or
 * PREEMPTED, else blocked. Later observers that find the thread unchanged send nothing: `held_ns`
 * of its next event, sample or clock, less that of this one, is the time that this stack represents
 * beside.
 *
 * WAKER: at time_ns the thread of the header ends the wait of another one, `wakee_tid`, that began
 * at `begin_ns`: 0 if that one was still on its way to sleep. Sent for waits that hold a sampling
 * point, and for some that end just before one. With INTERRUPT the header names no thread.
 *
 * `number` counts the OFF_CPU samples of a thread, from 1, also those that were lost or left out.
 * Members of sessions are sampled for these; a thread that has ended a member's wait is followed,
 * and sampled for `followed_sessions`, too, until PROFD_FOLLOWED_NS have passed since the last such
 * WAKER. `event.sessions` has both.
 *
 * After `frames` stand `cfas` words, leaf first: index of a user frame << PROFD_CFA_INDEX_SHIFT |
 * CFA (canonical frame address), for frames of files with PROFD_FILE_KEEP_CFA; after those
 * `python_words` of the Python part (python_layout.h). The last `label_bytes` of the event are the
 * record of the thread's labels (labels.h), or its begin. Before that: COUNTED, profd_pmu_counts.
 *
 * PACKED: of the words behind the common header, up to `frames`, those are left out that are 0
 * (event.kept), and the words of the tail are made of units of 16 bits, the lowest of a word first.
 * A word is encoded as its difference d to the last one before it with the same bit 63, or to 0 if
 * there is none; for a CFA word, the one before counts as larger by one index. With B = bit 63:
 *   1 unit:  (d + 2^13) << 2 | B, where it has PROFD_UNIT_BITS bits
 *   2 units: (d + 2^28) << 3 | 2 | B, where it has PROFD_TWO_UNITS_BITS bits
 *   4 units: the word itself << 3 | 6 | B; its bits 61 and 62 are as bit 60 in all such words
 * The second word of a Python frame is its validator, 2 units, and its instruction: 1 unit,
 * instruction << 1, or 2 units, instruction << 1 | 1, with all bits set for all bits set.
 */
struct profd_sample_event {
  struct profd_event event;
  union {
    __u64 begin_ns;
    __u64 held_ns; /* OBSERVED */
  };
  union {
    __u64 runnable_ns;
    __u64 stack_number;   /* OBSERVED */
    __u64 wakee_start_ns; /* WAKER */
  };
  __u64 period_ns;
  union {
    __u32 blocked_points;
    __u32 wakee_tid;  /* WAKER */
    __u32 futex_word; /* SNAPSHOT of a thread that waits for a futex */
  };
  union {
    __u32 runnable_points;
    __u32 registers;   /* OBSERVED: a hash of the user's registers */
    __u32 futex_owner; /* SNAPSHOT: the word 8 bytes behind the futex: of a mutex its owner */
  };
  __s32 syscall;    /* number of the syscall it is in; -1: none */
  __u32 task_state; /* prev_state of the switch-out; 0 when on CPU */
  union {
    __u64 syscall_args[3];
    char comm[PROFD_COMM_LEN]; /* WAKER */
  };
  __u16 fd_kind; /* enum profd_fd_kind of syscall_args[0], where the syscall takes one */
  __u16 stack_flags;
  __u16 kernel_frames;
  __u16 user_frames;
  __u64 missing_stack_bytes; /* not COMPLETE: above the last frame, to the end of the stack */
  __u16 uncertain_from;      /* index of a user frame, or PROFD_ALL_CERTAIN */
  __u16 cfas;
  __u16 python_words;
  __u16 python_flags; /* PROFD_PYTHON_* */
  union {
    __u64 followed_sessions;
    __u64 foreign_sessions; /* WAKER: that may not see the thread */
  };
  __u32 number; /* OFF_CPU */
  __u16 label_bytes;
  __u16 reserved;
  __u64 frames[]; /* kernel leaf first, then user leaf first; addresses as the CPU saw them */
};

#define PROFD_TASK_NEW_PROCESS 1 /* FORK: not only a new thread */
#define PROFD_TASK_LAST_THREAD 2 /* EXIT: the process is gone with it */
#define PROFD_TASK_KTHREAD 4
#define PROFD_TASK_PARTIAL 8 /* PROCESS: its mappings and arguments could not be read yet */

struct profd_task_event {
  struct profd_event event; /* FORK: the child's */
  __u32 parent_pid;         /* FORK: of the forking thread; EXEC: 0 */
  __u32 parent_tid;         /* FORK: the forking thread; EXEC: the tid before the exec */
  __u64 parent_process_start_ns;
  char comm[PROFD_COMM_LEN];
  __u32 exit_code;  /* EXIT */
  __u32 path_bytes; /* EXEC: of the tail, terminating zero included */
  char path[];
};

struct profd_mmap_event {
  struct profd_event event;
  __u64 address;
  __u64 bytes;
  __u64 file_offset;
  __u32 device_major;
  __u32 device_minor;
  __u64 inode;
  __u64 inode_generation;
  __u32 prot;
  __u32 path_bytes; /* terminating zero included */
  char path[];
};

/* What /proc said of a process, verbatim: the blobs follow each other in this order. */
enum profd_process_blob {
  PROFD_BLOB_COMM,
  PROFD_BLOB_EXE,
  PROFD_BLOB_CMDLINE,
  PROFD_BLOB_CGROUP,
  PROFD_BLOB_NSPID,
  PROFD_BLOB_MAPS,
  PROFD_BLOB_THREADS /* "tid\tcomm\n" lines */,
  /* The Uid line of status, "\n", the host's name of the effective one or ""; with "\nsole" where
   * that user owns the process exclusively: same uids, dumpable, no capability on the host. */
  PROFD_BLOB_USER,
  /* What the process says it is, by OpenTelemetry: names and values, each with a zero behind it. */
  PROFD_BLOB_RESOURCE,
  PROFD_BLOB_MAX
};

struct profd_process_event {
  struct profd_event event;
  __u32 blob_bytes[10]; /* indexed by enum profd_process_blob; the last is 0 */
  char blobs[];
};

/* mode of a session: samples that it has, and whether no client has requested it; and pmu.h */
#define PROFD_SESSION_ON_CPU 1
#define PROFD_SESSION_OFF_CPU 2
#define PROFD_SESSION_BACKGROUND 4
#define PROFD_SESSION_OBSERVED 8  /* in snapshot mode */
#define PROFD_SESSION_WAKERS 16   /* with WAKER events, and samples of those who end waits */
#define PROFD_SESSION_SWITCHES 32 /* with SWITCH events, and WAKE with PROFD_SESSION_WAKERS */

/*
 * `event.sessions` has the bit of `session`; of a START also that of the session it goes on where
 * that one ends, at the same epoch: threads that stay blocked keep the stack they had there.
 */
struct profd_session_event {
  struct profd_event event;
  __u32 session; /* 0..PROFD_MAX_SESSIONS-1 */
  __u32 mode;    /* PROFD_SESSION_* */
  __u64 epoch;
  __u64 epoch_ns; /* the exact start or end of the session */
  __u64 on_cpu_period_ns;
  __u64 off_cpu_period_ns;
  __u64 bpf_cost_ns; /* PROFD_COUNTER_COST_NS at this moment */
  __u64 own_cpu_ns;  /* CPU time of profd itself at this moment */
  __u32 hook;        /* enum profd_hook in control.h */
  __u32 target_bytes;
  char target[]; /* text form of the target, for people and for replays */
};

/* Nominal periods of samples, the finest of all sessions or what the budget allows; 0: none. */
struct profd_periods_event {
  struct profd_event event;
  __u64 on_cpu_period_ns;
  __u64 off_cpu_period_ns;
  __u64 background_on_cpu_period_ns; /* of PROFD_SAMPLE_BACKGROUND */
  __u64 background_off_cpu_period_ns;
  __u64 point_seed; /* of the sampling points (points.h); 0: each thread has had its own */
};

/* What a process, or a user, has reported beyond a share while the session of `event.sessions` ran;
 * `event.pid` is that of the process, or 0. */
struct profd_beyond_share_event {
  struct profd_event event;
  __u32 kind; /* enum profd_share_kind */
  __u32 uid;  /* of the user whose share it is, in the initial user namespace */
  __u64 count;
};

struct profd_counters_event {
  struct profd_event event;
  __u32 count; /* PROFD_COUNTER_MAX of the writer */
  __u32 reserved;
  __u64 values[]; /* indexed by enum profd_counter, since the programs were loaded */
};

/*
 * A process with an interpreter, or one that is not understood. After it, reason_bytes of text:
 * why not, without terminating zero.
 */
struct profd_python_process_event {
  struct profd_event event;
  __u32 version;      /* as PY_VERSION_HEX; 0: not known */
  __u32 chain;        /* enum profd_python_chain; 0: refused */
  __u64 module_begin; /* mapping of the interpreter's code */
  __u64 module_end;
  __u64 eval_begin; /* the eval function; 0: not known */
  __u64 eval_end;
  __u64 gil_begin; /* futexes inside are waits for the GIL */
  __u64 gil_end;
  __u32 reason_bytes;
  __u32 runtime; /* of the process; 0 is the first: all others are then forgotten, and sent again */
  char reason[];
};

/*
 * What a process says of the labels of its threads: before samples that have some, and again when
 * it has named more attributes. The tail: `reason_bytes` of text, why its labels cannot be read,
 * else 0; then for each of `keys` a length of one byte and the name.
 */
struct profd_label_process_event {
  struct profd_event event;
  __u32 keys; /* at most PROFD_MAX_LABEL_KEYS */
  __u32 reason_bytes;
  char texts[];
};

/* What a code object says; a tail of its texts in this order, without terminating zeros. */
enum profd_python_text {
  PROFD_PYTHON_NAME,
  PROFD_PYTHON_QUALNAME, /* empty before 3.11 */
  PROFD_PYTHON_FILE,
  PROFD_PYTHON_LINES, /* the line table, as it is */
  PROFD_PYTHON_TEXT_MAX
};

#define PROFD_PYTHON_CODE_STALE 1 /* flags: it was another one when it was read; no texts */

struct profd_python_code_event {
  struct profd_event event;
  __u64 code;
  __u32 validator;
  __u32 version; /* of the interpreter, as PY_VERSION_HEX: says how to read the line table */
  __s32 first_line;
  __u32 text_bytes[PROFD_PYTHON_TEXT_MAX];
  __u32 runtime; /* as in profd_python_process_event */
  char texts[];
};

/* Both compilers see these; tests/unit/bpf checks every offset. */
PROFD_STATIC_ASSERT(sizeof(struct profd_clock_event) == 56 + 40 + 272 + 48, "profd_clock_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_sample_event) == 56 + 104, "profd_sample_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_task_event) == 56 + 40, "profd_task_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_mmap_event) == 56 + 56, "profd_mmap_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_process_event) == 56 + 40, "profd_process_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_session_event) == 56 + 64, "profd_session_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_periods_event) == 56 + 40, "profd_periods_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_beyond_share_event) == 56 + 16, "beyond share");
PROFD_STATIC_ASSERT(sizeof(struct profd_label_process_event) == 56 + 8, "label process");
PROFD_STATIC_ASSERT(sizeof(struct profd_counters_event) == 56 + 8, "profd_counters_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_python_process) == 88, "profd_python_process");
PROFD_STATIC_ASSERT(sizeof(struct profd_python_process_event) == 56 + 64, "python process");
PROFD_STATIC_ASSERT(sizeof(struct profd_python_code_event) == 56 + 40, "python code");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_clock_event, at_epoch) == 96, "at_epoch");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_clock_event, comm) == 368, "comm");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_sample_event, syscall_args) == 96,
                    "syscall_args");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_sample_event, frames) == 160, "frames");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_task_event, path) == 96, "task path");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_mmap_event, path) == 112, "mmap path");
PROFD_STATIC_ASSERT(__builtin_offsetof(struct profd_session_event, target) == 120, "target");
