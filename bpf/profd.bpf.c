// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * All hooks of the BPF side but one: the table of contents. The header of each says what it does.
 * The one is in observe.bpf.c.
 */
#include "bpf/kernel/iterator_types.h"
#include "bpf/sample/lifecycle.bpf.h"
#include "bpf/sample/membership.bpf.h"
#include "bpf/sample/observe.bpf.h"
#include "bpf/sample/oncpu.bpf.h"
#include "bpf/sample/snapshot.bpf.h"
#include "bpf/sample/step.bpf.h"
#include "bpf/sample/switch.bpf.h"
#include "bpf/sample/waker.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Arguments of BTF tracepoints: one word each, typed by the kernel's BTF. */
#define TASK(index) ((struct task_struct*)ctx[index])

/* Context switches: only while a session needs them. One of the two switch-in hooks is loaded. */

SEC("tp_btf/sched_switch")
int on_switch(__u64* ctx) {
  switch_out(ctx, ctx[0] & 1, TASK(1), TASK(2), ctx[3]);
  return 0;
}

SEC("tp_btf/sched_exit_tp")
int on_switch_in_exit_tp(__u64* ctx) {
  if (ctx[0] & 1) switch_in(ctx);
  return 0;
}

SEC("kprobe")
int on_switch_in_kprobe(void* ctx) {
  switch_in(ctx);
  return 0;
}

/* Only while a session wants to know who ends waits. In the waker, before the wakee is queued. */

SEC("tp_btf/sched_waking")
int on_waking(__u64* ctx) {
  waking(ctx, TASK(0));
  return 0;
}

/* Only while a session records every wake-up. A program of its own: the verifier has a limit. */

SEC("tp_btf/sched_waking")
int on_waking_recorded(__u64* ctx) {
  waking_recorded(ctx, TASK(0));
  return 0;
}

/* Only with PROFD_SPLIT_WAKEUP. */

SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64* ctx) {
  woken(TASK(0));
  return 0;
}

SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(__u64* ctx) {
  woken(TASK(0));
  return 0;
}

/* Lives of threads. */

/* Not sched_process_fork: that one does not see the threads that io_uring makes. */
SEC("tp_btf/task_newtask")
int on_fork(__u64* ctx) {
  thread_forked(TASK(0), !(ctx[1] & CLONE_THREAD));
  return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64* ctx) {
  reevaluate_owner(TASK(0));
  thread_execed(TASK(0), ctx[1], (struct linux_binprm*)ctx[2]);
  return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64* ctx) {
  thread_exited(TASK(0));
  return 0;
}

SEC("tp_btf/sched_process_free")
int on_free(__u64* ctx) {
  thread_freed(TASK(0));
  return 0;
}

SEC("tp_btf/task_rename")
int on_rename(__u64* ctx) {
  thread_renamed(TASK(0), (const char*)ctx[1]);
  return 0;
}

SEC("tp_btf/cgroup_attach_task")
int on_cgroup_attach(__u64* ctx) {
  thread_moved(TASK(2), REEVALUATED_BY_HOOK);
  if (ctx[3] & 1) __sync_fetch_and_add(&words.process_moves, 1);
  return 0;
}

/* Samples of what runs. */

SEC("perf_event")
int on_cpu_sample(struct bpf_perf_event_data* ctx) {
  sample_on_cpu(ctx);
  return 0;
}

/* Only while a session wants to know where steps begin, in processes that it names. */

SEC("uprobe")
int on_step(struct pt_regs* ctx) {
  take_step(ctx, bpf_get_attach_cookie(ctx));
  return 0;
}

/* Task iterators: run by reading them. */

SEC("iter/task")
int assign_threads(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task) assign_thread(task);
  return 0;
}

SEC("iter/task")
int reevaluate_threads(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task) thread_moved(task, REEVALUATED_BY_ITERATOR);
  return 0;
}

SEC("iter/task")
int read_clocks(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task) read_clock(ctx->meta->seq, task);
  return 0;
}

SEC("iter.s/task")
int snapshot_stacks(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task) snapshot_stack(ctx->meta->seq, task);
  return 0;
}

/* Read by observers, in snapshot mode, on kernels before 6.7: those that cannot load `observe`. */
SEC("iter.s/task")
int observe_by_iterator(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task) observe_thread(task, ctx->meta->seq_num == 0);
  return 0;
}
