/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels for profd: a thread says what it works on, and profiles show time by that.
 *
 *   static int step_key;                        step_key = profd_label_key("step");
 *   struct profd_label label;
 *   profd_label_begin(&label, step_key, text, strlen(text));
 *   ... the work ...
 *   profd_label_end(&label);                    labels end in the reverse order of their begin
 *
 * In C++: `profd::Label label(step_key, "17");` ends with its block. profd_trace_begin says in the
 * same way which span of a trace a thread works on.
 *
 * Compile profd_labels.c into the program, or into one of its libraries. The variable must be
 * exported: by a program that is linked with -rdynamic, or with
 * -Wl,--export-dynamic-symbol=otel_thread_ctx_v1; by a library as it is.
 *
 * Format: OpenTelemetry's thread context (OTEP 4947) and process context (OTEP 4719), so that other
 * readers see the labels, too. Linux, gcc or clang. Nothing blocks and nothing is allocated, but in
 * profd_label_key and profd_labels_publish. A value is at most 255 bytes; what does not fit is left
 * out. A process that publishes such a context by another library keeps that one: profd_label_key
 * then returns -1.
 */
#ifndef PROFD_LABELS_H
#define PROFD_LABELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROFD_LABEL_RECORD_BYTES 640
#define PROFD_LABEL_HEAD_BYTES 28

/* The labels of a thread from the begin of one to its end. On the stack of who begins it. */
struct profd_label {
  const void* before; /* what was published until then */
  union {
    uint16_t aligned;
    unsigned char bytes[PROFD_LABEL_RECORD_BYTES];
  } record;
};

/*
 * The number of a label's name, the same for the same name; any thread, once for each name. -1:
 * there are 256 already, the names are too long altogether, or the process publishes a context by
 * another library.
 */
int profd_label_key(const char* name);
/* What readers look for in the process, where no label has a name yet: before profd_trace_begin,
 * once. -1: the process publishes a context by another library. */
int profd_labels_publish(void);
/* In a child after fork(), where no atfork handler does it: names are published again. */
void profd_labels_after_fork(void);

/* The present thread has this label, and those that it had, until profd_label_end. With key -1
 * nothing changes. */
void profd_label_begin(struct profd_label* label, int key, const char* value, size_t length);
void profd_label_end(struct profd_label* label);

/* The present thread works on this span, with the labels that it has, until profd_label_end. The
 * ids are those of W3C's trace context; all zero: it works on no trace. */
void profd_trace_begin(struct profd_label* label, const unsigned char trace_id[16],
                       const unsigned char span_id[8]);

/* The calling thread's variable, which points to its record or is NULL. For callers that write it
 * by themselves. */
const void** profd_label_slot(void);

#ifdef __cplusplus
} /* extern "C" */

#include <string_view>

namespace profd {

class Label {
 public:
  Label(int key, std::string_view value) {
    profd_label_begin(&label_, key, value.data(), value.size());
  }
  ~Label() { profd_label_end(&label_); }
  Label(const Label&) = delete;
  Label& operator=(const Label&) = delete;

 private:
  profd_label label_;
};

}  // namespace profd
#endif

#endif /* PROFD_LABELS_H */
