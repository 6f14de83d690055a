// The parts of bpf/ that look at nothing but their arguments, compiled as user code and callable
// from tests. Names follow bpf/; struct thread and its like are the real ones.
#pragma once

#include "bpf/shared/control.h"
#include "bpf/shared/counters.h"
#include "bpf/shared/events.h"
#include "bpf/shared/unwind_table.h"

#ifdef __cplusplus
extern "C" {
#endif

struct user_thread; /* struct thread of bpf/maps.bpf.h */

struct user_accounting {
  __u64 run_delay;
  __u64 sum_exec;
  __u64 stolen; /* from the CPU */
};

struct user_interval {
  __u64 begin_ns;
  __u64 end_ns;
  __u64 runnable_ns;
};

struct user_present_state {
  __u64 queued_ns;
  int running;
};

/* What a reading says. */
struct user_reading {
  __u64 epoch;
  __u64 epoch_ns;
  __u64 since_ns;
  __u32 state;
  struct profd_clock at_epoch;
  struct profd_clock now;
  struct profd_moves moves_at_epoch;
  struct profd_moves moves;
};

/* Words that user space writes. */
struct profd_control* user_control(void);
struct profd_constants* user_constants(void);
__u64 user_counter(enum profd_counter counter);
/* Where CPUs are, by number. */
void user_set_places(const struct profd_cpu_place* places, __u32 count);
void user_reset(void); /* all of the above */

/* Where bpf_get_prandom_u32 and the readers of user memory come from. */
void user_set_random(__u32 (*random)(void* context), void* context);
void user_set_memory(long (*read)(void* context, void* to, __u32 bytes, __u64 from), void* context);

struct user_thread* user_thread_begin(__u64 now, __u32 state, __u32 kind,
                                      const struct user_accounting* accounting);
struct user_thread* user_thread_begin_created(__u64 now, const struct user_accounting* accounting);
void user_thread_free(struct user_thread* thread);
void user_switch_out(struct user_thread* thread, __u64 now, __u32 state, __u32 kind, __u32 cpu,
                     const struct user_accounting* accounting);
struct user_interval user_switch_in(struct user_thread* thread, __u64 now, __u32 cpu,
                                    const struct user_accounting* accounting);
void user_note_switch_in(struct user_thread* thread, __u64 now, __u64 stolen); /* the first one */
void user_wake(struct user_thread* thread, __u64 now);
struct user_reading user_read(struct user_thread* thread, __u64 now,
                              const struct user_accounting* accounting,
                              const struct user_present_state* present);
/* The run-queue clock, seen from CLOCK_MONOTONIC. */
struct user_offset {
  __u64 ns;
  __u64 at_ns;
};
void user_learn_offset(struct user_offset* offset, __u64 now, __u64 last_arrival);
__u64 user_queued_since(const struct user_offset* offset, __u64 now, __u64 last_queued);

/* Threads on their way out; user_exiting counts those of a control.exit_slot. */
void user_begin_exit(struct user_thread* thread);
void user_end_exit(struct user_thread* thread);
__s64 user_exiting(__u32 slot);
const struct profd_clock* user_clock(const struct user_thread* thread);
__u64 user_since(const struct user_thread* thread);
__u64 user_sequence(const struct user_thread* thread);

/* The clock of a thread in snapshot mode. */
struct user_totals {
  __u64 on_cpu_ns;
  __u64 runnable_ns;
  __u64 blocked_ns;
  __u64 stolen_ns[PROFD_STOLEN_MAX];
  __u32 sleeps;
  __u32 state;
};
struct user_sums {
  __u64 on_cpu_ns;
  __u64 runnable_ns;
  __u64 sleeps;
  __u32 state;
};
/* One reading, which adds the time up to `epoch` and then that up to `now`; returns the totals at
 * the epoch. */
struct user_totals user_read_sums(struct user_totals* totals, __u64 begin, __u64 epoch, __u64 now,
                                  const struct user_sums* sums);

/* Hardware counters of one CPU: what they show next, by enum profd_pmu_counter; `missing`: they
 * cannot be read. */
struct user_counter_value {
  __u64 counter;
  __u64 enabled;
  __u64 running;
};
void user_set_pmu(__u64 now, const struct user_counter_value values[PROFD_PMU_COUNTERS],
                  int missing);
struct user_pmu_thread;
struct user_pmu_thread* user_pmu_thread_new(void);
void user_pmu_thread_free(struct user_pmu_thread* thread);
/* What the hooks do where `task` comes and leaves; 1: the span was counted, and this is it. */
void user_counted_comes(__u64 task);
int user_counted_leaves(struct user_pmu_thread* thread, __u64 task,
                        struct profd_pmu_counts* counted);
/* The same while a program that this one interrupts reads the counters. */
void user_hold_pmu(int held);
struct profd_pmu_event user_read_sums_of(const struct user_pmu_thread* thread);

/* Shares. */
int user_take_one(struct profd_share* share, __u64 now, __u64 per_second, __u64 at_once);
__u32 user_count_wait(struct profd_share* share, __u64 now, __u64 in_block);

/* What the hooks of one CPU leave for each other. */
struct user_cpu;
struct user_cpu* user_cpu_new(void);
void user_cpu_free(struct user_cpu* cpu);
/* The sampling points of an interval that a thread of `sessions` ends on this CPU. */
struct user_points {
  __u32 blocked;
  __u32 runnable;
  __u32 level;
};
struct user_points user_count_points(struct user_cpu* cpu, __u64 sessions, __u64 begin, __u64 end,
                                     __u64 runnable);

/* The ns that an interrupt after `ticked` ns represents, by the words of control; 0: it is no
 * sample. */
__u64 user_on_cpu_weight(__u64 requested_sessions, __u64 background_period, __u64 sessions,
                         __u64 ticked);

/* By DWARF number. */
struct user_registers {
  __u64 pc;
  __u64 value[16];
};

/* Walks from these registers; kernel frames stand before, `task_reader` picks the sleeping one. */
void user_walk(struct profd_sample_event* event, const struct user_registers* registers,
               int is_64_bit, int task_reader);

/* Packs a sample in place; returns the bytes that it takes then. `labels`: event->label_bytes of
 * them, or null. `counts`: with PROFD_SAMPLE_COUNTED. */
__u64 user_finish_sample(struct profd_sample_event* event, const void* labels,
                         const struct profd_pmu_counts* counts);

/* Reads the labels of a thread of process event->event.pid, the one of which user_set_labels has
 * spoken, into `record`, which has room for PROFD_MAX_LABEL_BYTES. Sets event->label_bytes. */
void user_read_labels(struct profd_sample_event* event, __u64 thread_pointer, int task_reader,
                      void* record);
void user_set_labels(__u32 pid, const struct profd_label_process* process);

/* Where the thread stands on its C stack as Python walks begin. */
void user_set_stack_pointer(__u64 value);
/* Walks the Python frames of a thread of process event->event.pid. `parent`: not 0 when it was
 * forked by that one and has not executed anything else. */
/* Whether user space would be woken for code that was not seen lately. */
int user_walk_python(struct profd_sample_event* event, __u64 thread_pointer, __u32 parent,
                     int task_reader);
/* One process with so many runtimes. */
void user_set_python(__u32 pid, const struct profd_python_process* runtimes, __u32 count);

/* A mapping of the process that is walked. */
struct user_mapping {
  __u64 begin;
  __u64 end;
  __u64 file_offset;
  int executable;
  int has_file;
  int vdso;
  struct profd_file_key key;
};
/* In order of address; they are copied into a tree as the kernel has it. */
void user_set_mappings(const struct user_mapping* mappings, __u32 count, __u64 start_stack);

/* Unwind tables. A page of the pool is made when it is first requested for. */
void* user_pool_page(__u32 page);
struct profd_unwind_file* user_unwind_file(__u32 index);
void user_set_file(const struct profd_file_key* key, __u32 index);

/* Tables of another owner, used instead of those above until the next reset. */
struct user_tables {
  void* pool; /* of PROFD_MAX_SLABS */
  struct profd_unwind_file* files;
  const __u32* (*find)(void* context, const struct profd_file_key* key); /* a file's index, or 0 */
  void (*page)(void* context); /* called whenever a page is looked up */
  void* context;
};
void user_set_tables(const struct user_tables* tables);
/* The requests for tables so far. */
__u32 user_wanted(const struct profd_wanted** first);
void user_set_time(__u64 now); /* what bpf_ktime_get_ns says */

/* What a STEP event says of a name. */
struct user_step_name {
  __u32 flags; /* PROFD_STEP_NAME_* */
  __u32 bytes;
  char text[PROFD_STEP_NAME_BYTES];
};
struct user_step_name user_read_step_name(__u32 naming, __u64 address);

int user_takes_fd(__s64 syscall);
__u32 user_kind_of_mode(__u32 mode);
__u32 user_anonymous_kind(const char* name);

#ifdef __cplusplus
}
#endif
