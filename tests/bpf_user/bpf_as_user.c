#include "tests/bpf_user/bpf_as_user.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/sample/pack.bpf.h"
#include "bpf/sample/sampling_points.bpf.h"
#include "bpf/sample/step_name.bpf.h"
#include "bpf/stack/labels.bpf.h"
#include "bpf/stack/python.bpf.h"
#include "bpf/stack/syscall.bpf.h"
#include "bpf/stack/unwind.bpf.h"
#include "bpf/thread/clock.bpf.h"
#include "bpf/thread/clock_reading.bpf.h"
#include "bpf/thread/exiting.bpf.h"
#include "bpf/thread/kernel_clock.bpf.h"
#include "bpf/thread/pmu.bpf.h"
#include "bpf/thread/share.bpf.h"
#include "tests/bpf_user/user_maps.h"

static __u32 (*random_source)(void* context);
static void* random_context;
static long (*memory_reader)(void* context, void* to, __u32 bytes, __u64 from);
static void* memory_context;
static __u64 stack_pointer;
static struct pmu_state pmu;
static struct bpf_perf_event_value pmu_values[PROFD_PMU_COUNTERS];
static int pmu_missing;

void* bpf_map_lookup_elem(void* map, const void* key) {
  const u32 index = *(const u32*)key;
  if (map == &counters) return user_find_counter(index);
  if (map == &shares) return NULL;
  if (map == &pmu_states) return &pmu;
  if (map == &wanted_recently) return user_find_recently();
  if (map == &unwind_file_ids) return user_find_file_id(key);
  if (map == &python_processes) return user_find_python(index);
  if (map == &python_runtimes) return user_find_python_runtime(key);
  if (map == &label_processes) return user_find_labels(index);
  if (map == &unwind_files) return user_find_file(index);
  if (map == &cpu_places) return user_find_place(index);
  if (map == &unwind_pool) return user_find_slab(index);
  return user_find_page(map, index);
}

long bpf_map_update_elem(void* map, const void* key, const void* value, __u64 flags) {
  (void)map, (void)key, (void)value, (void)flags;
  return -1;
}

long bpf_perf_event_read_value(void* map, __u64 flags, struct bpf_perf_event_value* to,
                               __u32 bytes) {
  void* const maps[] = {&pmu_cycles, &pmu_instructions, &pmu_cache_misses};
  if (pmu_missing || flags != BPF_F_CURRENT_CPU || bytes != sizeof(*to)) return -2;
  for (int i = 0; i < PROFD_PMU_COUNTERS; i++)
    if (map == maps[i]) *to = pmu_values[i];
  return 0;
}

void* bpf_ringbuf_reserve(void* ring, __u64 bytes, __u64 flags) {
  (void)flags;
  return ring == &ring_wanted ? user_make_wanted(bytes) : NULL;
}

void bpf_ringbuf_submit(void* record, __u64 flags) {
  (void)record;
  (void)flags;
}

__u32 bpf_get_prandom_u32(void) { return random_source(random_context); }

long bpf_probe_read_user(void* to, __u32 bytes, const void* from) {
  return memory_reader(memory_context, to, bytes, (__u64)from);
}

long bpf_copy_from_user_task(void* to, __u32 bytes, const void* from, struct task_struct* task,
                             __u64 flags) {
  (void)task;
  (void)flags;
  return memory_reader(memory_context, to, bytes, (__u64)from);
}

/* As the kernel's: with the zero, which it writes after as much as there is room for. */
long bpf_probe_read_user_str(void* to, __u32 bytes, const void* from) {
  char* text = to;
  for (__u32 i = 0; i < bytes; i++) {
    if (i + 1 == bytes) {
      text[i] = 0;
      return bytes;
    }
    if (memory_reader(memory_context, text + i, 1, (__u64)from + i)) return -14;
    if (!text[i]) return i + 1;
  }
  return 0;
}

long bpf_probe_read_kernel(void* to, __u32 bytes, const void* from) {
  memcpy(to, from, bytes);
  return 0;
}

long bpf_loop(__u32 turns, void* callback, void* context, __u64 flags) {
  long (*turn)(__u32 index, void* context) = (long (*)(__u32, void*))callback;
  __u32 i;
  (void)flags;
  for (i = 0; i < turns; i++)
    if (turn(i, context)) return i + 1;
  return i;
}

struct profd_control* user_control(void) { return (struct profd_control*)&control; }
struct profd_constants* user_constants(void) { return (struct profd_constants*)&constants; }

void user_reset(void) {
  stack_pointer = 0;
  memset(&pmu, 0, sizeof(pmu));
  pmu_missing = 0;
  memset((void*)&control, 0, sizeof(control));
  memset((void*)&constants, 0, sizeof(constants));
  memset(&words, 0, sizeof(words));
  user_reset_maps();
  constants.split = PROFD_SPLIT_RUN_DELAY;
}

void user_set_random(__u32 (*random)(void* context), void* context) {
  random_source = random;
  random_context = context;
}

void user_set_memory(long (*read)(void* context, void* to, __u32 bytes, __u64 from),
                     void* context) {
  memory_reader = read;
  memory_context = context;
}

static struct kernel_accounting accounting_of(const struct user_accounting* accounting) {
  struct kernel_accounting out = {accounting->run_delay, accounting->sum_exec, accounting->stolen};
  return out;
}

static struct thread* new_thread(void) {
  struct thread* thread = calloc(1, sizeof(*thread));
  if (!thread) abort();
  return thread;
}

struct user_thread* user_thread_begin(__u64 now, __u32 state, __u32 kind,
                                      const struct user_accounting* accounting) {
  struct thread* thread = new_thread();
  struct kernel_accounting kernel = accounting_of(accounting);
  clock_begin(thread, now, state, kind, &kernel, 0);
  return (struct user_thread*)thread;
}

struct user_thread* user_thread_begin_created(__u64 now, const struct user_accounting* accounting) {
  struct thread* thread = new_thread();
  struct kernel_accounting kernel = accounting_of(accounting);
  clock_begin_created(thread, now, &kernel);
  return (struct user_thread*)thread;
}

void user_thread_free(struct user_thread* thread) { free(thread); }

void user_switch_out(struct user_thread* thread, __u64 now, __u32 state, __u32 kind, __u32 cpu,
                     const struct user_accounting* accounting) {
  struct kernel_accounting kernel = accounting_of(accounting);
  struct leaving leaving = {.state = state, .kind = kind, .cpu = cpu};
  clock_switch_out((struct thread*)thread, now, &kernel, &leaving);
}

struct user_interval user_switch_in(struct user_thread* thread, __u64 now, __u32 cpu,
                                    const struct user_accounting* accounting) {
  struct kernel_accounting kernel = accounting_of(accounting);
  struct user_interval out;
  struct interval interval;
  clock_switch_in((struct thread*)thread, now, &kernel, cpu, &interval);
  out.begin_ns = interval.begin_ns;
  out.end_ns = interval.end_ns;
  out.runnable_ns = interval.runnable_ns;
  return out;
}

void user_note_switch_in(struct user_thread* thread, __u64 now, __u64 stolen) {
  note_switch_in((struct thread*)thread, now, stolen);
}

void user_wake(struct user_thread* thread, __u64 now) { clock_wake((struct thread*)thread, now); }

struct user_reading user_read(struct user_thread* user, __u64 now,
                              const struct user_accounting* accounting,
                              const struct user_present_state* present) {
  struct thread* thread = (struct thread*)user;
  struct thread copy = *thread;
  struct kernel_accounting kernel = accounting_of(accounting);
  struct present_state kernel_state = {.queued_ns = present->queued_ns,
                                       .running = present->running};
  struct user_reading reading;
  clock_advance(&copy, now, &kernel, &kernel_state);
  reading.epoch = copy.kept.number;
  reading.epoch_ns = copy.kept.time_ns;
  reading.since_ns = copy.kept.since_ns;
  reading.state = copy.kept_state;
  reading.at_epoch = copy.kept.clock;
  reading.now = copy.clock;
  reading.moves_at_epoch = copy.kept.moves;
  reading.moves = copy.moves;
  return reading;
}

void user_learn_offset(struct user_offset* offset, __u64 now, __u64 last_arrival) {
  learn_offset((struct queue_offset*)offset, now, last_arrival);
}

__u64 user_queued_since(const struct user_offset* offset, __u64 now, __u64 last_queued) {
  return queued_since((const struct queue_offset*)offset, now, last_queued);
}

void user_begin_exit(struct user_thread* thread) { begin_exit((struct thread*)thread); }
void user_end_exit(struct user_thread* thread) { end_exit((struct thread*)thread); }
__s64 user_exiting(__u32 slot) { return words.exiting[slot]; }

const struct profd_clock* user_clock(const struct user_thread* thread) {
  return &((const struct thread*)thread)->clock;
}

__u64 user_since(const struct user_thread* thread) {
  return ((const struct thread*)thread)->since_ns;
}

__u64 user_sequence(const struct user_thread* thread) {
  return ((const struct thread*)thread)->sequence;
}

int user_take_one(struct profd_share* share, __u64 now, __u64 per_second, __u64 at_once) {
  return take_one(share, now, per_second, at_once);
}

__u32 user_count_wait(struct profd_share* share, __u64 now, __u64 in_block) {
  return count_wait(share, now, in_block);
}

struct user_cpu* user_cpu_new(void) {
  struct switch_state* state = calloc(1, sizeof(*state));
  if (!state) abort();
  return (struct user_cpu*)state;
}

void user_cpu_free(struct user_cpu* cpu) { free(cpu); }

struct user_points user_count_points(struct user_cpu* cpu, __u64 sessions, __u64 begin, __u64 end,
                                     __u64 runnable) {
  const struct interval interval = {.begin_ns = begin, .end_ns = end, .runnable_ns = runnable};
  struct user_points out = {0, 0, 0};
  const struct points* points = count_points((struct switch_state*)cpu, sessions, &interval);
  if (!points) return out;
  out.blocked = points->blocked;
  out.runnable = points->runnable;
  out.level = points->level;
  return out;
}

__u64 user_on_cpu_weight(__u64 requested_sessions, __u64 background_period, __u64 sessions,
                         __u64 ticked) {
  control.requested_sessions = requested_sessions;
  control.background_on_cpu_period = background_period;
  return on_cpu_weight(sessions, ticked);
}

__u64 user_finish_sample(struct profd_sample_event* event, const void* labels,
                         const struct profd_pmu_counts* counts) {
  static struct sample_buffer sample;
  const __u64 words =
      (__u64)event->kernel_frames + event->user_frames + event->cfas + event->python_words;
  memset(&sample, 0x5a, sizeof(sample)); /* what the last one left */
  memcpy(sample.words, event, sizeof(*event) + words * sizeof(__u64));
  if (labels) memcpy(&sample.labels.head, labels, event->label_bytes);
  if (counts) sample.counts = *counts;
  const __u64 bytes = finish_sample(&sample);
  memcpy(event, sample.words, bytes);
  return bytes;
}

struct user_totals user_read_sums(struct user_totals* totals, __u64 begin, __u64 epoch, __u64 now,
                                  const struct user_sums* of) {
  const struct kernel_sums sums = {.on_cpu_ns = of->on_cpu_ns,
                                   .runnable_ns = of->runnable_ns,
                                   .sleeps = of->sleeps,
                                   .state = of->state};
  struct kernel_totals kept;
  struct user_totals at_epoch;
  memcpy(&kept, totals, sizeof(kept));
  advance_totals(&kept, begin, epoch, &sums);
  memcpy(&at_epoch, &kept, sizeof(kept));
  advance_totals(&kept, begin, now, &sums);
  end_reading(&kept, &sums);
  memcpy(totals, &kept, sizeof(kept));
  return at_epoch;
}

void user_walk(struct profd_sample_event* event, const struct user_registers* registers,
               int is_64_bit, int task_reader) {
  static struct reader reader;
  struct walk* walk = &reader.walk;
  struct task_struct task = {.mm = user_mm()};
  memset(&reader, 0x5a, sizeof(reader)); /* what the last walk left */
  walk->pc = registers->pc;
  memcpy(walk->registers.value, registers->value, sizeof(registers->value));
  if (task_reader) {
    copy_stack_block(walk, &task);
    walk_user_stack(event, walk, &task, is_64_bit, READ_TASK);
  } else {
    walk_user_stack(event, walk, &task, is_64_bit, READ_CURRENT);
  }
}

void user_set_stack_pointer(__u64 value) { stack_pointer = value; }

int user_walk_python(struct profd_sample_event* event, __u64 thread_pointer, __u32 parent,
                     int task_reader) {
  static struct reader reader;
  struct walk* walk = &reader.walk;
  struct task_struct process = {.tgid = parent, .flags = 0};
  struct task_struct task = {.tgid = event->event.pid, .flags = parent ? PF_FORKNOEXEC : 0};
  struct pid id = {.numbers = {{.nr = parent}}};
  process.thread_pid = &id;
  process.group_leader = &process;
  process.real_parent = &process;
  task.group_leader = &task;
  task.real_parent = &process;
  task.thread.fsbase = thread_pointer;
  memset(&reader, 0x5a, sizeof(reader));
  empty_stack_block(walk);
  walk->python.stack_pointer = stack_pointer;
  if (task_reader)
    walk_python(event, walk, &task, READ_TASK);
  else
    walk_python(event, walk, &task, READ_CURRENT);
  return wakes_for_code(event, walk);
}

void user_read_labels(struct profd_sample_event* event, __u64 thread_pointer, int task_reader,
                      void* record) {
  static struct reader reader;
  struct task_struct task = {.tgid = event->event.pid};
  task.thread.fsbase = thread_pointer;
  memset(&reader, 0x5a, sizeof(reader));
  empty_stack_block(&reader.walk);
  reader.sample.event = *event;
  reader.sample.event.label_bytes = 0;
  if (task_reader)
    read_labels(&reader.sample, &reader.walk, &task, READ_TASK);
  else
    read_labels(&reader.sample, &reader.walk, &task, READ_CURRENT);
  event->label_bytes = reader.sample.event.label_bytes;
  memcpy(record, &reader.sample.labels.head, event->label_bytes);
}

int user_takes_fd(__s64 syscall) { return takes_fd(syscall); }
__u32 user_kind_of_mode(__u32 mode) { return kind_of_mode(mode); }
__u32 user_anonymous_kind(const char* name) { return anonymous_kind(name); }

struct user_step_name user_read_step_name(__u32 naming, __u64 address) {
  struct step_buffer buffer = {.event = {.flags = 0}};
  struct user_step_name name;
  read_step_name(&buffer, naming, address);
  memset(&name, 0, sizeof(name));
  name.flags = buffer.event.flags;
  name.bytes = buffer.name_bytes;
  memcpy(name.text, buffer.name, PROFD_STEP_NAME_BYTES);
  return name;
}

void user_set_pmu(__u64 now, const struct user_counter_value values[PROFD_PMU_COUNTERS],
                  int missing) {
  user_set_time(now);
  for (int i = 0; i < PROFD_PMU_COUNTERS; i++) {
    pmu_values[i].counter = values[i].counter;
    pmu_values[i].enabled = values[i].enabled;
    pmu_values[i].running = values[i].running;
  }
  pmu_missing = missing;
}

struct user_pmu_thread* user_pmu_thread_new(void) {
  struct pmu_thread* thread = calloc(1, sizeof(*thread));
  if (!thread) abort();
  return (struct user_pmu_thread*)thread;
}
void user_pmu_thread_free(struct user_pmu_thread* thread) { free(thread); }

void user_counted_comes(__u64 task) { open_span(this_pmu(), task); }

int user_counted_leaves(struct user_pmu_thread* thread, __u64 task,
                        struct profd_pmu_counts* counted) {
  return close_span(this_pmu(), (struct pmu_thread*)thread, task, counted);
}

void user_hold_pmu(int held) { pmu.busy = held; }

struct profd_pmu_event user_read_sums_of(const struct user_pmu_thread* thread) {
  struct profd_pmu_event event = {};
  read_sums((const struct pmu_thread*)thread, &event);
  return event;
}
