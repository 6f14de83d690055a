/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* All maps and global words: purpose, key, value, who writes, who deletes. */
#pragma once

/* What libbpf's header needs. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/kernel/process_types.h"
#include "bpf/shared/control.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/events.h"
#include "bpf/shared/labels.h"
#include "bpf/shared/observer.h"
#include "bpf/shared/pmu.h"
#include "bpf/shared/points.h"
#include "bpf/shared/unwind_table.h"

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#define barrier() asm volatile("" ::: "memory")
/* The compiler forgets what it knows of a value: what is computed without branches stays so. */
#define forget(value) asm volatile("" : "+r"(value))

#ifndef LOADED_CONST /* tests of these files as user code write the constants */
#define LOADED_CONST const
#endif

/* Set by user space before load. */
LOADED_CONST volatile struct profd_constants constants = {};
/* Mapped by user space, which alone writes it. */
volatile struct profd_control control SEC(".data") = {};

/* Whether a client has requested a thread of these sessions. */
static __always_inline int is_requested(__u64 sessions) {
  return (sessions & control.requested_sessions) != 0;
}

/* What a clock showed at an epoch. */
struct epoch_totals {
  u32 number; /* of control.epoch, its lower half; 0: none yet */
  struct profd_moves moves;
  u64 time_ns;
  u64 since_ns; /* when the state of that moment began */
  struct profd_clock clock;
};

/*
 * The storage of one thread. Its clock is written only by the CPU that switches the thread out or
 * in, so there is never more than one writer; readers on other CPUs retry while `sequence` is odd
 * or has changed. `begin_ns` is written last when it is made: 0 means that there is no clock yet.
 */
struct thread {
  u64 begin_ns;
  u32 sequence;
  u32 generation; /* of the clock: control.clock_generation when it was made, its lower half */
  u64 sessions;   /* bit i: member of session i; written with atomics */
  u64 since_ns;   /* when the present interval began */
  u8 state;       /* enum profd_thread_state */
  u8 kind;        /* off CPU: enum profd_blocked or enum profd_runnable, by state */
  u16 cpu;        /* it ran on last; NO_CPU: it has not run yet */
  u16 task_state; /* prev_state of the last switch-out */
  u8 kept_state;  /* enum profd_thread_state as of `kept` */
  u8 padding;
  u64 run_delay;      /* sched_info.run_delay at the last switch-out */
  u64 sum_exec;       /* se.sum_exec_runtime at the last switch-out */
  u64 stolen;         /* stolen_from_cpu when it came; task.bpf.h */
  u64 switch_in_ns;   /* when the hook saw it come, since the last switch-out; else 0 */
  u64 woken_ns;       /* first wake-up, of this wait if it is not before since_ns; kept only with
                         PROFD_SPLIT_WAKEUP, or by on_waking */
  u64 read_queued;    /* sched_info.last_queued that a reading saw, and how it dated it; */
  u64 read_queued_ns; /* written by readers, so that all date one wait alike */
  u32 quiet;          /* enum quiet; changed with atomics */
  u32 samples;        /* that were due in off-CPU intervals, whatever became of them */
  u64 followed;       /* bit i: followed for session i; written with atomics */
  u64 followed_until_ns;
  u32 exiting; /* exiting.bpf.h: 1 + the slot where it is counted; 0: in none */
  struct profd_moves moves;
  struct profd_clock clock;
  struct epoch_totals kept;
};

#define NO_CPU 0xffff

/* Whether user space knows of a thread that is beyond the share of its process or user. */
enum quiet {
  ANNOUNCED, /* within the share: its fork was reported */
  QUIET,     /* nothing of it was reported yet */
  REPORTED,  /* something was, so its end will be */
  LEFT_OUT,  /* it has ended before, and nothing of it will be */
};

/*
 * The kernel puts 72 bytes before it, and allocates powers of two: beyond this, every thread of the
 * host would take twice as much.
 */
PROFD_STATIC_ASSERT(sizeof(struct thread) <= 512 - 72, "struct thread");

/* Key: task. Made by on_fork and assign_threads, deleted by the kernel with the task. */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread);
} threads SEC(".maps");

/* What readings have made of the kernel's sums for a thread; kernel_clock.bpf.h. */
struct kernel_totals {
  u64 on_cpu_ns;
  u64 runnable_ns;
  u64 blocked_ns;
  u64 stolen_ns[PROFD_STOLEN_MAX];
  u32 sleeps; /* lower half */
  u32 state;  /* enum profd_thread_state */
};

/* The storage of one thread in snapshot mode. */
struct observed {
  u64 held_ns;  /* represented by stacks that were still valid when the thread was visited again */
  u64 switches; /* of the thread, when its last stack was read */
  u64 visited_ns;                  /* the point of the last visit */
  u64 stack_sessions;              /* that have its last stack */
  u32 stack_number;                /* of its last stack */
  u32 stack_state;                 /* enum stack_state */
  u32 recent_until[PROFD_STREAMS]; /* the long period, lower half, to the end of which the thread is
                                      visited at each point */
  u32 rereads;                     /* of the present wait's stack, because tables were missing */
  u32 epoch;                       /* of `at_epoch`, its lower half; 0: none yet */
  u64 epoch_ns;
  u32 busy; /* who changes the totals */
  /* Where the end of the thread was reported for the first time; 0: it has not been. What follows
   * is counted when the kernel frees it, which has no ids any more. */
  u32 end_pid;
  u32 end_tid;
  u32 reserved;
  u64 end_process_start_ns;
  struct kernel_totals totals; /* as of the last reading */
  struct kernel_totals at_epoch;
};

PROFD_STATIC_ASSERT(sizeof(struct observed) <= 256 - 72, "struct observed"); /* as struct thread */

/* What the last stack of a thread is worth. */
enum stack_state {
  STACK_NONE, /* it is not valid: the thread ran since, or it could not be read */
  STACK_RUNNABLE,
  STACK_BLOCKED,
  STACK_RUNNING, /* there is none: the thread was found on a CPU */
};

/* Key: task. Made by observers and by readings of clocks, for members of sessions in snapshot mode.
 */
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct observed);
} observed_threads SEC(".maps");

/* Threads to be visited at each point of one long period, by their numbers in the initial pid
 * namespace. */
struct recent_list {
  u64 head; /* the long period in the upper half, the count in the lower one */
  u32 tids[PROFD_MAX_RECENT];
};

/* Key: stream * 2 + the long period's lowest bit. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PROFD_STREAMS * 2);
  __type(key, u32);
  __type(value, struct recent_list);
} recent_lists SEC(".maps");

/* One pass, and the threads whose stacks it reads: tids, with LISTED_LONG for those that represent
 * a long period. */
struct pass {
  u64 busy; /* a run of the program uses it */
  struct profd_pass of;
  u64 count;
  u64 entries[PROFD_MAX_READ];
};

/* Key: any. As `readers`: a run may hang in the memory of a process that it visits. */
#define PASSES 4
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PASSES);
  __type(key, u32);
  __type(value, struct pass);
} passes SEC(".maps");

/* Key: a stream. The pass that its observer makes by a task iterator, which has no context. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PROFD_STREAMS);
  __type(key, u32);
  __type(value, struct profd_pass);
} requested_passes SEC(".maps");

/* Frames, their CFAs, and the Python part. */
#define MAX_TAIL_WORDS (PROFD_MAX_FRAMES + PROFD_MAX_USER_FRAMES + PROFD_MAX_PYTHON_WORDS)

#define FIXED_WORDS (sizeof(struct profd_sample_event) / sizeof(u64))

/* How far a sample is packed. In a map: the verifier would follow it turn by turn elsewhere. */
struct packing {
  u64 low;      /* the last word so far without bit 63 */
  u64 high;     /* ... and with it */
  u32 frames;   /* words in front that are frames */
  u32 cfas_end; /* index of the first word that is neither a frame nor a CFA */
  u32 second;   /* the next word is the second of a Python frame */
  u32 units;    /* written so far */
};

/* The labels of a thread. */
struct label_record {
  u64 word; /* read on the way to them */
  struct profd_label_head head;
  u8 attributes[PROFD_MAX_LABEL_BYTES - sizeof(struct profd_label_head)];
};

/* A sample with room for the deepest stack, and the most labels. */
struct sample_buffer {
  struct packing packing;
  struct profd_pmu_counts counts; /* with PROFD_SAMPLE_COUNTED */
  struct label_record labels;
  union {
    struct profd_sample_event event;
    u64 words[FIXED_WORDS + MAX_TAIL_WORDS];
    u16 units[((FIXED_WORDS + MAX_TAIL_WORDS) * sizeof(u64) + sizeof(struct profd_pmu_counts) +
               PROFD_MAX_LABEL_BYTES) /
              sizeof(u16)];
  };
};

/* A mapping of a process, found by an address in it. */
struct mapping {
  u64 begin;
  u64 end;
  u64 file_offset; /* of `begin` */
  u32 kind;        /* enum mapping_kind */
  u32 file;        /* index in unwind_files; NO_FILE: not known */
  struct profd_file_key key;
};

#define KNOWN_MAPPINGS 4
#define MAPLE_NODE_WORDS 32

/* Copy of a node of the tree of mappings. */
struct maple_words {
  u64 word[MAPLE_NODE_WORDS];
};

#define SIGNAL_REGISTERS 17

/* Registers of one frame, by their DWARF numbers. */
struct registers {
  u64 value[16]; /* of the register, or the address at which it is saved */
  u32 known;     /* bit r: value[r] is the register's */
  u32 saved;     /* bit r: value[r] is where it is saved */
};

#define PYTHON_FRAME_WORDS (PROFD_PYTHON_FRAME_BYTES / 8)
#define PYTHON_SEEN_CODES 65536 /* a power of two */

/* A code object that the current walk has validated. */
struct python_code {
  u64 address;
  u32 validator;
};
#define PYTHON_CODES 16 /* a power of two */

struct python_words {
  u64 word[PROFD_PYTHON_CODE_WORDS];
};

/* A walk along the frames of an interpreter. */
struct python_walk {
  struct profd_python_process process; /* the current runtime */
  struct profd_python_runtime_key key; /* of it; whose `runtime` 0 is the first one */
  u64 frame;                           /* to be read next; 0: none */
  u64 cframe;                          /* of the eval call that runs it */
  u64 state;                           /* the thread's */
  u64 bound;                           /* the one in its slot */
  u64 stack_pointer;                   /* the thread's, as it stands */
  u64 inner;                           /* the innermost CFrame */
  u64 outer;       /* the CFrame of the calling eval; before the first anchor only */
  u64 first_frame; /* of frame objects: the innermost one */
  u64 tortoise;    /* a frame passed before: frames that lead there again are a circle */
  u32 anchors;
  u32 restarted;
  u32 more;        /* runtimes of the process beyond the first */
  u32 over;        /* nothing more is read of the current runtime */
  u32 steps;       /* along its frames */
  u32 first_word;  /* what runtimes before had kept */
  u32 first_kept;  /* ... in frames */
  u32 first_flags; /* ... and PROFD_PYTHON_* */
  u32 first;       /* index of its first word in event->frames */
  u32 words;
  u32 frames;
  u32 flags;                              /* PROFD_PYTHON_* */
  u32 validator;                          /* of the code object that is validated */
  u32 unseen;                             /* a code object was not among those seen lately */
  u64 frame_words[PYTHON_FRAME_WORDS];    /* copy of the current frame */
  struct python_words code_words;         /* copy of a code object */
  struct python_code codes[PYTHON_CODES]; /* each at a place that its address gives */
};

/* What all programs share, in one variable: both objects (observe.bpf.c) have it at one place. */
struct {
  /* How far CLOCK_MONOTONIC is ahead of the run-queue clocks, and when that was found. */
  __u64 run_queue_offset_ns, run_queue_offset_at_ns;
  __u64 program_wake_ns; /* when the reader was last woken for a new program */
  __u64 process_moves;   /* whole processes to other cgroups: the kernel reports their leaders */
  __u64 exiting[2];      /* threads that exit, not read yet, by control.exit_slot */
  /*
   * Marks of code objects seen lately, each at a place that it draws itself: what another one has
   * overwritten counts as unseen again. Every CPU writes here without a lock.
   */
  __u32 seen_codes[PYTHON_SEEN_CODES];
} words;

/* A walk up a user stack. In a map, as it is larger than a program's stack. */
struct walk {
  u64 mm; /* struct mm_struct */
  u64 pc;
  u64 user_pc; /* where the walk begins */
  struct registers registers;
  struct profd_unwind_rule rule; /* of the current frame */
  u64 cfa;                       /* of the current frame, by that rule */
  u32 exact;                     /* pc is the next instruction, not the one after a call */
  u32 frames;
  u32 first; /* index of the first user frame in event->frames */
  u32 cfas;
  u32 flags; /* PROFD_STACK_* */
  u32 uncertain_from;
  u32 current; /* in mappings[]: the last one used */
  u32 keep_cfa;
  u32 is_64_bit; /* the code at pc */
  u32 refused;   /* the rule of the current frame led elsewhere than behind a call */
  u64 requested; /* tables were missing, and this walk was the first to ask for them */
  struct mapping mappings[KNOWN_MAPPINGS];
  struct maple_words node;
  u64 signal_registers[SIGNAL_REGISTERS];
  u64 kept_cfas[PROFD_MAX_USER_FRAMES];
  struct python_walk python;
};

#define STACK_BLOCK_BYTES 4096

/* The lower part of a thread's stack, copied at once: as much costs as much as four single words.
 */
struct stack_block {
  u64 begin;
  u64 bytes;      /* that are valid */
  u64 live_reads; /* of memory beyond it, since it was copied */
  u64 words[STACK_BLOCK_BYTES / sizeof(u64)];
};

/* Buffer of one program type on one CPU; `busy` while a run of it is building a sample. */
struct scratch {
  u64 busy;
  struct walk walk;
  struct sample_buffer sample;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct scratch);
} scratch_on_cpu SEC(".maps"), scratch_switch_in SEC(".maps"), scratch_waking SEC(".maps");

/*
 * What a thread does now, and since when. In a map, as the verifier follows what lies on the stack
 * of a program along each path by itself.
 */
struct present {
  u64 since_ns;
  u64 moves; /* another number once it has moved; odd: it moves just now */
  u32 state;
  u32 kind;
  u32 task_state;
  u32 by_kernel; /* no hook keeps the thread's clock */
};

/* What an iterator or an observer builds its answer in; `busy` while a run of it does. */
struct reader {
  u64 busy;
  struct present present;
  struct thread copy;
  struct walk walk;
  struct stack_block block;
  struct sample_buffer sample;
};

/*
 * Key: any. A run of an iterator takes a buffer that is free. A buffer per CPU would not do: the
 * kernel may preempt an iterator, and the sleepable one may sleep on another process's memory for
 * any time, even after its reader was killed. Task storage would not do: kernels 7.2 and 7.3 do not
 * allocate a value of this size there.
 */
#define READERS 8
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, READERS);
  __type(key, u32);
  __type(value, struct reader);
} readers SEC(".maps");

/*
 * Copy of the storage of a thread that joins or leaves a session. By enum reevaluating_program: an
 * iterator may be preempted by a hook.
 */
enum reevaluating_program {
  REEVALUATED_BY_HOOK,
  REEVALUATED_BY_EXEC,
  REEVALUATED_BY_ITERATOR,
  REEVALUATING_PROGRAMS
};
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, REEVALUATING_PROGRAMS);
  __type(key, u32);
  __type(value, struct thread);
} membership_copy SEC(".maps");

/*
 * Key: pid, as in events. Written and deleted by user space, which knows interpreters. Made
 * whole in advance: nothing is allocated while a sample is taken.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, PROFD_MAX_PYTHON_PROCESSES);
  __type(key, u32);
  __type(value, struct profd_python_process);
} python_processes SEC(".maps");

/* The same, of the runtimes that are not their process's first. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, PROFD_MAX_MORE_PYTHON_RUNTIMES);
  __type(key, struct profd_python_runtime_key);
  __type(value, struct profd_python_process);
} python_runtimes SEC(".maps");

/*
 * Key: pid, as in events. Written and deleted by user space, while clients have sessions. Made
 * whole in advance, as python_processes.
 */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, PROFD_MAX_LABEL_PROCESSES);
  __type(key, u32);
  __type(value, struct profd_label_process);
} label_processes SEC(".maps");

/* Shares: bpf/shared/shares.h. Written by the programs, read by user space. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, PROFD_MAX_SHARES);
  __type(key, struct profd_share_key);
  __type(value, struct profd_share);
} shares SEC(".maps");

/* How far CLOCK_MONOTONIC is ahead of the run-queue clock of one CPU. */
struct queue_offset {
  u64 ns;    /* modulo 2^64 */
  u64 at_ns; /* when it was seen; 0: never */
};

/* There is no sampling point in [begin, end) if after_ns < begin and end <= until_ns. */
struct point_gap {
  u64 level; /* 0: not known yet */
  u64 after_ns;
  u64 until_ns;
};

/* Sampling points in the two parts of an interval. */
struct points {
  u32 blocked;
  u32 runnable;
  u32 level;
  u32 halvings; /* beyond the share of its process, the sample stands for 2^halvings */
};

/* What the hooks of one CPU leave for the next ones on it. */
struct switch_state {
  u64 time_ns; /* of the switch under way */
  u64 next;    /* address of the task that it switches to; 0: taken */
  struct queue_offset offset;
  u64 switches;                    /* not yet in `counters` */
  u64 stolen;                      /* stolen_from_cpu, as far as `counters` have it; 0: not yet */
  struct point_gap gap;            /* of threads that a client has requested */
  struct point_gap background_gap; /* of all others */
  struct point_gap waking_gap;     /* of on_waking alone, which may interrupt a switch-in */
  struct points points;            /* of the sample under way: the stacks of 6.1 have no room */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct switch_state);
} switch_states SEC(".maps");

#define CALL_WORDS 32

/*
 * The wake-up last captured on one CPU. The buffer of the hook still holds its event: what is woken
 * by the same call of the same thread has the same stack.
 */
struct waker_call {
  u64 task; /* address; 0: none, or an interrupt */
  u64 time_ns;
  u64 switches; /* of the thread: it has not left the CPU since */
  u64 sessions;
  u64 bytes;            /* of the event */
  u64 sum;              /* of the stacks below */
  u64 user[CALL_WORDS]; /* on top of the thread's stack */
  u64 kernel[PROFD_MAX_KERNEL_FRAMES];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct waker_call);
} waker_calls SEC(".maps");

/* Key: enum profd_counter. Written by all programs, summed over CPUs by user space. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PROFD_COUNTER_MAX);
  __type(key, u32);
  __type(value, u64);
} counters SEC(".maps");

/* Key: session. Written by user space. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PROFD_MAX_SESSIONS);
  __type(key, u32);
  __type(value, struct profd_filter);
} filters SEC(".maps");

/* Pids and tids of PROFD_TARGET_PID and _TID filters. Written and deleted by user space. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, PROFD_MAX_FILTER_IDS);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct profd_filter_id);
  __type(value, u8);
} filter_ids SEC(".maps");

/* Written by on_cpu_sample alone: it may interrupt any other program. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, PROFD_RING_ON_CPU_BYTES);
} ring_on_cpu SEC(".maps");

/* Written by all other programs. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, PROFD_RING_SCHED_BYTES);
} ring_sched SEC(".maps");

/* Requests for unwind tables: struct profd_wanted. Written by all programs. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, PROFD_RING_WANTED_BYTES);
} ring_wanted SEC(".maps");

#define WANTED_RECENTLY 16

/* What was requested lately on one CPU, so that it is not requested again at once. */
struct wanted_recently {
  u64 what[WANTED_RECENTLY];
  u64 time_ns[WANTED_RECENTLY];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct wanted_recently);
} wanted_recently SEC(".maps");

/* Unwind tables: unwind_table.h. Written by user space, all but last_used. */

/* The value is an index in unwind_files. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, PROFD_MAX_UNWIND_FILES);
  __type(key, struct profd_file_key);
  __type(value, u32);
} unwind_file_ids SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PROFD_MAX_UNWIND_FILES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, u32);
  __type(value, struct profd_unwind_file);
} unwind_files SEC(".maps");

#define PAGE_UNITS (PROFD_POOL_PAGE_BYTES / PROFD_PLACE_UNIT)

/* One slab; it lives as long as user space holds it. */
struct unwind_slab {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, PROFD_SLAB_PAGES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, u32);
  __type(value, u64[PAGE_UNITS]);
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, PROFD_MAX_SLABS);
  __type(key, u32);
  __array(values, struct unwind_slab);
} unwind_pool SEC(".maps");

/* Key: CPU; as many as the host may have. Written by user space. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct profd_cpu_place);
} cpu_places SEC(".maps");

/* Key: CPU. The address of its run queue, which stays the same; 0: not known yet. Written by the
 * assign iterator: some thread is always bound to each CPU. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u64);
} run_queues SEC(".maps");

static __always_inline struct switch_state* this_switch(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&switch_states, &zero);
}

static __always_inline void add_to_counter(u32 counter, u64 amount) {
  u64* value = bpf_map_lookup_elem(&counters, &counter);
  if (value) *value += amount; /* per CPU; an interrupting program may cost one count */
}

/* Not inlined: rare where speed counts, and the common way is shorter without it. */
static __noinline void count_many(u32 counter, u64 amount) { add_to_counter(counter, amount); }

static __always_inline void count(u32 counter) { count_many(counter, 1); }

/* At the end of the longest ways: one more frame is more than the 512 bytes of stack of 6.1. */
static __always_inline void count_in_place(u32 counter) { add_to_counter(counter, 1); }
