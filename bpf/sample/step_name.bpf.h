/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The name of a step, in the memory of the process that begins it. Tests compile it as user code.
 */
#pragma once

#include "bpf/shared/steps.h"
#include "bpf/thread/clock.bpf.h"

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
