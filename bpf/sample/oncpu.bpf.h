/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* On-CPU samples: a perf event per CPU interrupts whatever runs there. */
#pragma once

#include <linux/bpf_perf_event.h>

#include "bpf/sample/counting.bpf.h"
#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/followed.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/sample/sampling_points.bpf.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/sibling.bpf.h"

static __always_inline void take_on_cpu_stacks(struct bpf_perf_event_data* ctx,
                                               struct sample_buffer* sample, struct walk* walk,
                                               struct task_struct* task) {
  if ((ctx->regs.cs & 3) == 0) {
    take_current_stacks(ctx, sample, walk, task);
    return;
  }
  sample->event.event.flags |= PROFD_SAMPLE_USER_MODE;
  walk->pc = ctx->regs.rip;
  COPY_REGISTERS(walk->registers.value, &ctx->regs, r);
  walk->is_64_bit = ctx->regs.cs == USER_CS;
  walk_current(sample, walk);
  read_current_labels(sample, walk);
}

/* The effective period; the context's own is, of the CPU clock, the one that it began with. */
static __always_inline u64 event_period(struct bpf_perf_event_data* ctx) {
  struct bpf_perf_event_data_kern* kernel = (struct bpf_perf_event_data_kern*)ctx;
  return BPF_CORE_READ(kernel, event, hw.sample_period);
}

/* What this CPU has lost since its last sample: by it, stolen time is spread. */
static __always_inline void count_stolen(struct task_struct* task) {
  struct switch_state* state = this_switch();
  u64 stolen = stolen_from_cpu(task);
  if (!state) return;
  if (state->stolen) count_many(PROFD_COUNTER_STOLEN_NS, above(stolen, state->stolen));
  state->stolen = stolen;
}

static __always_inline void sample_on_cpu(struct bpf_perf_event_data* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct scratch* scratch;
  struct thread* thread;
  u64 followed, sessions, weight, now;
  u32 zero = 0;
  if (!task->pid) return;
  count_stolen(task);
  thread = find_thread(task);
  if (!thread) return;
  if (!((thread->sessions | thread->followed) & control.on_cpu_sessions)) return;
  now = bpf_ktime_get_ns();
  followed = followed_sessions(thread, now) & ~thread->sessions;
  sessions = (thread->sessions | followed) & control.on_cpu_sessions;
  if (!sessions) return;
  weight = on_cpu_weight(sessions, event_period(ctx));
  if (!weight || !may_report(task, thread)) return;
  scratch = bpf_map_lookup_elem(&scratch_on_cpu, &zero);
  if (!scratch) return;
  if (scratch->busy) {
    count(PROFD_COUNTER_SCRATCH_BUSY);
    return;
  }
  scratch->busy = 1;
  barrier();
  begin_sample(&scratch->sample.event, task, PROFD_EVENT_ON_CPU, now, sessions);
  scratch->sample.event.period_ns = weight;
  scratch->sample.event.event.flags |= sibling_flags(scratch->sample.event.event.cpu);
  scratch->sample.event.followed_sessions = followed & control.on_cpu_sessions;
  if (thread->sessions & control.pmu_sessions) counted_sampled(task, &scratch->sample);
  take_on_cpu_stacks(ctx, &scratch->sample, &scratch->walk, task);
  send_sample(&ring_on_cpu, PROFD_RING_ON_CPU_BYTES, &scratch->sample, &scratch->walk,
              PROFD_COUNTER_ON_CPU_SAMPLES, PROFD_COUNTER_ON_CPU_RING_FULL);
  barrier();
  scratch->busy = 0;
  if (thread->sessions & control.pmu_sessions) counted_comes(task);
  count_stack_cost(now, sessions);
}
