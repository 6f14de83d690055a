/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Steps: their events, and what an attached program knows of the place that it is attached to: the
 * kernel hands it the cookie of its link, in which user space puts all of it.
 */
#pragma once

#include <linux/types.h>

#include "bpf/shared/event_header.h"

/* Bytes of a name that are kept. */
#define PROFD_STEP_NAME_BYTES 64

/* Sources of one session. */
#define PROFD_MAX_STEP_SOURCES 64

/* Where the name of a step is. */
enum profd_step_naming {
  PROFD_STEP_NO_NAME,
  PROFD_STEP_STRING,     /* the second argument is the address of a std::string: pointer, length */
  PROFD_STEP_COW_STRING, /* ... of the older one: a pointer, and the length 24 bytes before the text
                          */
  PROFD_STEP_TEXT,       /* the second argument is the address of a text with a terminating zero */
};

struct profd_step_place {
  __u8 session; /* the slot of the session that wants it */
  __u8 source;  /* its number there */
  __u8 naming;  /* enum profd_step_naming */
  __u8 end;     /* what began ends here */
  __u8 object;  /* the first argument is the address of an object, whose life the step is */
};

static inline __u64 profd_step_cookie(struct profd_step_place place) {
  return place.session | (__u64)place.source << 8 | (__u64)place.naming << 16 |
         (__u64)place.end << 24 | (__u64)place.object << 32;
}

static inline struct profd_step_place profd_step_place_of(__u64 cookie) {
  struct profd_step_place place;
  place.session = (__u8)cookie;
  place.source = (__u8)(cookie >> 8);
  place.naming = (__u8)(cookie >> 16);
  place.end = (__u8)(cookie >> 24);
  place.object = (__u8)(cookie >> 32);
  return place;
}

/* flags of STEP */
#define PROFD_STEP_END 1        /* what began last with this object ends; it has no name itself */
#define PROFD_STEP_NAME_CUT 2   /* the name is longer */
#define PROFD_STEP_NAME_FAULT 4 /* it could not be read */

/* The thread of the header has come to a place where a step, or a part of one, begins or ends:
 * that of source `source` of its session. After it, name_bytes of text without terminating zero. */
struct profd_step_event {
  struct profd_event event;
  __u64 object; /* an address in the process; 0: ends nest */
  __u32 source;
  __u32 name_bytes;
  char name[];
};

/* flags of STEP_SOURCE */
#define PROFD_STEP_SOURCE_NAMES 1   /* its steps have names */
#define PROFD_STEP_SOURCE_ENDS 2    /* ends are reported, too */
#define PROFD_STEP_SOURCE_REFUSED 4 /* it is not watched, for the reason behind the text */

/* What a session watches to see steps; in its later events of the same source, flags add up. After
 * it, text_bytes of text, "uprobe:libfoo.so:work", and reason_bytes of text. */
struct profd_step_source_event {
  struct profd_event event;
  __u32 source;
  __u32 reserved;
  __u32 text_bytes;
  __u32 reason_bytes;
  char text[];
};

PROFD_STATIC_ASSERT(sizeof(struct profd_step_event) == 56 + 16, "profd_step_event");
PROFD_STATIC_ASSERT(sizeof(struct profd_step_source_event) == 56 + 16, "step source");
