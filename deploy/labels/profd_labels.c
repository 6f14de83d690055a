/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source of profd_labels.h. It is also the library inside of profd_labels.py: that one needs no
 * library itself, as every C library has what it calls.
 */
#define _GNU_SOURCE
#include "profd_labels.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PROFD_LABELS_NO_ATFORK /* Python has its own */
#include <pthread.h>
#endif

__attribute__((visibility("default"))) __thread const void* otel_thread_ctx_v1;

/* What readers of the process find by the name of its mapping. */
struct profd_process_context {
  char signature[8];
  uint32_t version;
  uint32_t payload_bytes;
  uint64_t published_ns; /* 0: it is being written */
  const unsigned char* payload;
};

#define PROFD_LABEL_MAX_KEYS 256
#define PROFD_LABEL_MAX_NAME 127
#define PROFD_LABEL_PAYLOAD_BYTES (16 * 1024)
#define PROFD_LABEL_CONTEXT_BYTES (32 * 1024)

/* One for the process; changed with `lock`. */
static struct {
  int lock;
  int state; /* 0: nothing yet, 1: published, -1: another library publishes */
  int keys;
  struct profd_process_context* context;
  char names[PROFD_LABEL_MAX_KEYS][PROFD_LABEL_MAX_NAME + 1];
} profd_labels;

static void profd_labels_lock(void) {
  while (__atomic_exchange_n(&profd_labels.lock, 1, __ATOMIC_ACQUIRE)) usleep(100);
}
static void profd_labels_unlock(void) { __atomic_store_n(&profd_labels.lock, 0, __ATOMIC_RELEASE); }

/* Protobuf: a field with a length. Lengths are below 2^14, and always take two bytes. */
static unsigned char* profd_put_field(unsigned char* to, int field, const void* bytes,
                                      size_t length) {
  *to++ = (unsigned char)(field << 3 | 2);
  *to++ = (unsigned char)(length | 0x80);
  *to++ = (unsigned char)(length >> 7);
  if (bytes) memcpy(to, bytes, length);
  return to + length;
}

#define PROFD_FIELD_BYTES 3 /* in front of its bytes */

/*
 * opentelemetry.proto.resource.v1.Resource, with two attributes: the schema, a string, and the
 * names, an array of strings. 0: it would be too long.
 */
static size_t profd_make_payload(unsigned char* to) {
  static const char schema_key[] = "threadlocal.schema_version", schema[] = "tls_v1";
  static const char map_key[] = "threadlocal.attribute_key_map";
  const size_t schema_value = PROFD_FIELD_BYTES + sizeof(schema) - 1;
  const unsigned char* begin = to;
  size_t array = 0;
  int i;
  for (i = 0; i < profd_labels.keys; i++)
    array += 2 * PROFD_FIELD_BYTES + strlen(profd_labels.names[i]);
  if (array > PROFD_LABEL_PAYLOAD_BYTES - 256) return 0;
  to = profd_put_field(to, 1, NULL, 2 * PROFD_FIELD_BYTES + sizeof(schema_key) - 1 + schema_value) -
       (2 * PROFD_FIELD_BYTES + sizeof(schema_key) - 1 + schema_value);
  to = profd_put_field(to, 1, schema_key, sizeof(schema_key) - 1);
  to = profd_put_field(to, 2, NULL, schema_value) - schema_value;
  to = profd_put_field(to, 1, schema, sizeof(schema) - 1);
  to = profd_put_field(to, 1, NULL, 3 * PROFD_FIELD_BYTES + sizeof(map_key) - 1 + array) -
       (3 * PROFD_FIELD_BYTES + sizeof(map_key) - 1 + array);
  to = profd_put_field(to, 1, map_key, sizeof(map_key) - 1);
  to = profd_put_field(to, 2, NULL, PROFD_FIELD_BYTES + array) - (PROFD_FIELD_BYTES + array);
  to = profd_put_field(to, 5, NULL, array) - array;
  for (i = 0; i < profd_labels.keys; i++) {
    const size_t length = strlen(profd_labels.names[i]);
    to = profd_put_field(to, 1, NULL, PROFD_FIELD_BYTES + length) - (PROFD_FIELD_BYTES + length);
    to = profd_put_field(to, 1, profd_labels.names[i], length);
  }
  return (size_t)(to - begin);
}

/* With the lock. 0: the names are too long. */
static int profd_publish(void) {
  struct profd_process_context* context = profd_labels.context;
  unsigned char* payload = (unsigned char*)(context + 1);
  struct timespec now;
  size_t bytes;
  __atomic_store_n(&context->published_ns, 0, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  bytes = profd_make_payload(payload);
  context->version = 2;
  context->payload = payload;
  if (bytes) context->payload_bytes = (uint32_t)bytes;
  clock_gettime(CLOCK_REALTIME, &now);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&context->published_ns,
                   (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, __ATOMIC_SEQ_CST);
  memcpy(context->signature, "OTEL_CTX", 8);
  return bytes != 0;
}

/* Whether the process has such a mapping already. */
static int profd_has_context(void) {
  static const char name[] = "OTEL_CTX";
  char text[4096];
  size_t kept = 0;
  ssize_t got;
  int found = 0, maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return 0;
  while (!found && (got = read(maps, text + kept, sizeof(text) - kept)) > 0) {
    const size_t have = kept + (size_t)got;
    size_t at;
    for (at = 0; at + sizeof(name) - 1 <= have; at++)
      if (!memcmp(text + at, name, sizeof(name) - 1)) found = 1;
    kept = have < sizeof(name) ? have : sizeof(name);
    memmove(text, text + have - kept, kept);
  }
  close(maps);
  return found;
}

/* With the lock: makes the mapping. */
static void profd_make_context(void) {
  void* at = MAP_FAILED;
  int file;
  if (profd_has_context()) {
    profd_labels.state = -1;
    return;
  }
  file = memfd_create("OTEL_CTX", MFD_CLOEXEC);
  if (file >= 0) {
    if (!ftruncate(file, PROFD_LABEL_CONTEXT_BYTES))
      at = mmap(NULL, PROFD_LABEL_CONTEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    close(file);
  }
  if (at == MAP_FAILED)
    at = mmap(NULL, PROFD_LABEL_CONTEXT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
              -1, 0);
  if (at == MAP_FAILED) {
    profd_labels.state = -1;
    return;
  }
  madvise(at, PROFD_LABEL_CONTEXT_BYTES, MADV_DONTFORK);
  profd_labels.context = (struct profd_process_context*)at;
  profd_labels.state = 1;
#if defined(PR_SET_VMA) && defined(PR_SET_VMA_ANON_NAME)
  prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, PROFD_LABEL_CONTEXT_BYTES, "OTEL_CTX");
#endif
#ifndef PROFD_LABELS_NO_ATFORK
  pthread_atfork(NULL, NULL, profd_labels_after_fork);
#endif
}

int profd_label_key(const char* name) {
  int key = -1, i;
  const size_t length = strlen(name);
  if (!length || length > PROFD_LABEL_MAX_NAME) return -1;
  profd_labels_lock();
  if (!profd_labels.state) profd_make_context();
  if (profd_labels.state > 0) {
    for (i = 0; i < profd_labels.keys; i++)
      if (!strcmp(profd_labels.names[i], name)) key = i;
    if (key < 0 && profd_labels.keys < PROFD_LABEL_MAX_KEYS) {
      memcpy(profd_labels.names[profd_labels.keys], name, length + 1);
      profd_labels.keys++;
      if (profd_publish())
        key = profd_labels.keys - 1;
      else
        profd_labels.keys--;
    }
  }
  profd_labels_unlock();
  return key;
}

void profd_labels_after_fork(void) {
  profd_labels.lock = 0; /* who had it may not be here */
  if (profd_labels.state <= 0) return;
  profd_labels.state = 0;
  profd_make_context();
  if (profd_labels.state > 0) profd_publish();
}

int profd_labels_publish(void) {
  int known;
  profd_labels_lock();
  if (!profd_labels.state) {
    profd_make_context();
    if (profd_labels.state > 0) profd_publish();
  }
  known = profd_labels.state > 0;
  profd_labels_unlock();
  return known ? 0 : -1;
}

/* The record of `label` as the thread's present one, or as an empty one; the bytes of its
 * attributes. */
static uint16_t profd_copy_record(struct profd_label* label) {
  const unsigned char* before = (const unsigned char*)otel_thread_ctx_v1;
  unsigned char* to = label->record.bytes;
  uint16_t bytes = 0;
  label->before = before;
  if (before) {
    memcpy(&bytes, before + 26, sizeof(bytes));
    memcpy(to, before, PROFD_LABEL_HEAD_BYTES + (size_t)bytes);
  } else {
    memset(to, 0, PROFD_LABEL_HEAD_BYTES);
    to[24] = 1; /* valid */
  }
  return bytes;
}

/* A reader that interrupts the thread from here on finds the whole record. */
static void profd_show_record(struct profd_label* label) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  *(const void* volatile*)&otel_thread_ctx_v1 = label->record.bytes;
}

void profd_label_begin(struct profd_label* label, int key, const char* value, size_t length) {
  unsigned char* to = label->record.bytes;
  uint16_t bytes;
  label->before = otel_thread_ctx_v1;
  if (key < 0) return;
  if (length > 255) length = 255;
  bytes = profd_copy_record(label);
  if (PROFD_LABEL_HEAD_BYTES + (size_t)bytes + 2 + length > PROFD_LABEL_RECORD_BYTES) return;
  to += PROFD_LABEL_HEAD_BYTES + bytes;
  *to++ = (unsigned char)key;
  *to++ = (unsigned char)length;
  memcpy(to, value, length);
  bytes = (uint16_t)(bytes + 2 + length);
  memcpy(label->record.bytes + 26, &bytes, sizeof(bytes));
  profd_show_record(label);
}

void profd_trace_begin(struct profd_label* label, const unsigned char trace_id[16],
                       const unsigned char span_id[8]) {
  profd_copy_record(label);
  memcpy(label->record.bytes, trace_id, 16);
  memcpy(label->record.bytes + 16, span_id, 8);
  profd_show_record(label);
}

void profd_label_end(struct profd_label* label) {
  *(const void* volatile*)&otel_thread_ctx_v1 = label->before;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

const void** profd_label_slot(void) { return &otel_thread_ctx_v1; }
