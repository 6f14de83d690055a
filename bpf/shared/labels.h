/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Labels of threads: where the threads of a process publish them, and how a record of them looks.
 *
 * Source: OpenTelemetry's thread context (OTEP 4947). A library or the program defines the
 * thread-local variable `otel_thread_ctx_v1`, a pointer to the record of what the thread does now;
 * NULL: there is none. Only the thread itself changes it: a reader that interrupts the thread, or
 * finds it waiting, sees it whole.
 */
#pragma once

#include <linux/types.h>

#include "bpf/shared/event_header.h"

/* Processes with such a variable that are known at a time. */
#define PROFD_MAX_LABEL_PROCESSES 4096

/* Bytes of a record that are kept; writers are advised not to use more. */
#define PROFD_MAX_LABEL_BYTES 640

/* An attribute is named by a number of one byte. */
#define PROFD_MAX_LABEL_KEYS 256

/* The variable of one process. Value of the map `label_processes`; the key is the pid. */
struct profd_label_process {
  __u64 process_start_ns; /* of the process that is meant */
  /* Of the variable: from the thread pointer or, with `module`, from the begin of its block. */
  __s64 offset;
  __u32 module;      /* number of the block in the thread's vector of blocks; 0: none */
  __u32 entry_bytes; /* of that vector: 16 in glibc, 8 in musl */
};

/* What a record begins with. After it stand `attribute_bytes`: for each attribute an index into the
 * names that the process publishes, a length, and so many bytes. */
struct profd_label_head {
  __u8 trace_id[16]; /* all zero: no trace */
  __u8 span_id[8];
  __u8 valid; /* 1, or the record does not count */
  __u8 trace_flags;
  __u16 attribute_bytes;
};

PROFD_STATIC_ASSERT(sizeof(struct profd_label_process) == 24, "profd_label_process");
PROFD_STATIC_ASSERT(sizeof(struct profd_label_head) == 28, "profd_label_head");
