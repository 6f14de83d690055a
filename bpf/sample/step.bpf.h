/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where steps begin and end: the program runs where a function of a process is called that a
 * session watches, in the thread that calls it. The kernel runs it for all threads of the process,
 * and user space may be late to withdraw it, so membership decides who is reported.
 */
#pragma once

#include <linux/bpf_perf_event.h>

#include "bpf/sample/emit.bpf.h"
#include "bpf/sample/quiet.bpf.h"
#include "bpf/shared/steps.h"
#include "bpf/thread/cost.bpf.h"
#include "bpf/thread/share.bpf.h"

/* struct profd_step_event with room for its tail. */
struct step_buffer {
  struct profd_event event;
  u64 object;
  u32 source;
  u32 name_bytes;
  char name[PROFD_STEP_NAME_BYTES + 2]; /* a text may have one more that is not kept, and a zero */
};
PROFD_STATIC_ASSERT(__builtin_offsetof(struct step_buffer, name) == sizeof(struct profd_step_event),
                    "step_buffer");

/* A std::string as it lies in memory. */
struct user_string {
  u64 text;
  u64 bytes;
};

/* Before the text of one that is shared until it is written to. */
#define COW_LENGTH_BYTES 24

static __always_inline int read_string(u32 naming, u64 address, struct user_string* string) {
  if (bpf_probe_read_user(string, sizeof(*string), (void*)address)) return 0;
  return naming == PROFD_STEP_STRING ||
         !bpf_probe_read_user(&string->bytes, sizeof(string->bytes),
                              (void*)(string->text - COW_LENGTH_BYTES));
}

/* A text with a terminating zero. */
static __always_inline void read_step_text(struct step_buffer* buffer, u64 address) {
  long bytes = bpf_probe_read_user_str(buffer->name, sizeof(buffer->name), (void*)address);
  if (bytes <= 0) {
    buffer->event.flags |= PROFD_STEP_NAME_FAULT;
    return;
  }
  if (bytes - 1 > PROFD_STEP_NAME_BYTES) buffer->event.flags |= PROFD_STEP_NAME_CUT;
  buffer->name_bytes = smaller(bytes - 1, PROFD_STEP_NAME_BYTES);
}

/* `address`: of the string. The caller has just made it, so it is in memory. */
static __always_inline void read_step_name(struct step_buffer* buffer, u32 naming, u64 address) {
  struct user_string string;
  u64 bytes;
  if (naming == PROFD_STEP_TEXT) return read_step_text(buffer, address);
  if (!read_string(naming, address, &string)) {
    buffer->event.flags |= PROFD_STEP_NAME_FAULT;
    return;
  }
  bytes = string.bytes;
  if (bytes > PROFD_STEP_NAME_BYTES) {
    buffer->event.flags |= PROFD_STEP_NAME_CUT;
    bytes = PROFD_STEP_NAME_BYTES;
  }
  forget(bytes);
  if (bytes > PROFD_STEP_NAME_BYTES) return;
  if (bytes && bpf_probe_read_user(buffer->name, bytes, (void*)string.text)) {
    buffer->event.flags |= PROFD_STEP_NAME_FAULT;
    return;
  }
  buffer->name_bytes = bytes;
}

static __always_inline void send_step(struct step_buffer* buffer) {
  u64 bytes = sizeof(struct profd_step_event) + buffer->name_bytes;
  int failed;
  if (bytes > sizeof(*buffer)) return;
  buffer->event.size = bytes;
  failed = bpf_ringbuf_output(&ring_sched, buffer, bytes,
                              wakeup_flag(&ring_sched, PROFD_RING_SCHED_BYTES)) != 0;
  count(failed ? PROFD_COUNTER_STEPS_RING_FULL : PROFD_COUNTER_STEPS);
}

static __always_inline void take_step(struct pt_regs* registers, u64 cookie) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = find_thread(task);
  struct profd_step_place place = profd_step_place_of(cookie);
  u64 session = 1ull << (place.session & (PROFD_MAX_SESSIONS - 1));
  u64 now = bpf_ktime_get_ns();
  struct step_buffer buffer = {};
  if (!thread || !(thread->sessions & control.sessions & session)) return;
  if (!take_share(PROFD_SHARE_STEPS, event_pid(task), now, PROFD_STEPS_PER_SECOND,
                  PROFD_STEPS_AT_ONCE))
    return count(PROFD_COUNTER_STEPS_BEYOND_SHARE);
  if (!may_report(task, thread)) return;
  fill_event(&buffer.event, task, PROFD_EVENT_STEP, now, session);
  buffer.source = place.source;
  if (place.object) buffer.object = registers->rdi;
  if (place.end) buffer.event.flags = PROFD_STEP_END;
  if (place.naming != PROFD_STEP_NO_NAME) read_step_name(&buffer, place.naming, registers->rsi);
  send_step(&buffer);
  if (cost_is_due(now)) add_cost(now);
}
