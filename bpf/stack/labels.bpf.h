/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What a thread says of its present work: bpf/shared/labels.h. The record is kept as it is. */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/stack/unwind_registers.bpf.h"

/* Where the thread's variable lies; 0: the thread has not used it yet, or it cannot be read. */
static __always_inline u64 find_label_variable(struct walk_context* context,
                                               const struct profd_label_process* process, u64* word,
                                               int reader) {
  struct task_struct* task = context->task;
  u64 thread_pointer = BPF_CORE_READ(task, thread.fsbase), blocks;
  u32 entry_bytes = process->entry_bytes;
  if (!thread_pointer) return 0;
  if (!process->module) return thread_pointer + process->offset;
  if (!read_memory(context, word, sizeof(*word), thread_pointer + sizeof(u64), reader)) return 0;
  blocks = *word;
  /* The first module has number 1. What would be before it has a number of entries: in musl the
   * entry itself, in glibc the one before, which is not shorter than the entries. */
  if (!read_memory(context, word, sizeof(*word), entry_bytes == 16 ? blocks - 16 : blocks,
                   reader) ||
      *word < process->module ||
      !read_memory(context, word, sizeof(*word), blocks + (u64)process->module * entry_bytes,
                   reader) ||
      !*word || *word == ~0ull)
    return 0;
  return *word + process->offset;
}

/* The length of the thread's record, which is kept in `labels`; 0: it has none. */
static __always_inline u32 read_label_record(struct walk_context* context,
                                             struct label_record* labels,
                                             const struct profd_label_process* process,
                                             int reader) {
  u64 at = find_label_variable(context, process, &labels->word, reader);
  u32 bytes;
  if (!at || !read_memory(context, &labels->word, sizeof(labels->word), at, reader)) return 0;
  at = labels->word;
  if (!at) return 0;
  if (!read_memory(context, &labels->head, sizeof(labels->head), at, reader)) {
    count(PROFD_COUNTER_LABELS_UNREADABLE);
    return 0;
  }
  if (labels->head.valid != 1) return 0;
  bytes = labels->head.attribute_bytes;
  if (bytes > sizeof(labels->attributes)) bytes = sizeof(labels->attributes);
  if (bytes &&
      !read_memory(context, labels->attributes, bytes, at + sizeof(labels->head), reader)) {
    count(PROFD_COUNTER_LABELS_UNREADABLE);
    return 0;
  }
  return sizeof(labels->head) + bytes;
}

/* Reads the labels of a thread that a client has requested into its sample. */
static __always_inline void read_labels(struct sample_buffer* sample, struct walk* walk,
                                        struct task_struct* task, int reader) {
  struct profd_sample_event* event = &sample->event;
  struct walk_context context = {.event = event, .walk = walk, .task = task};
  const struct profd_label_process* process;
  u32 pid = event->event.pid;
  if (!control.label_processes || !is_requested(event->event.sessions)) return;
  process = bpf_map_lookup_elem(&label_processes, &pid);
  if (!process || process->process_start_ns != event->event.process_start_ns) return;
  event->label_bytes = read_label_record(&context, &sample->labels, process, reader);
}
