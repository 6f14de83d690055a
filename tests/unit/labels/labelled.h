/* Has two labels, and waits until its input ends. For each line of input it uses one more name. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "deploy/labels/profd_labels.h"

struct label_functions {
  int (*key)(const char* name);
  void (*begin)(struct profd_label* label, int key, const char* value, size_t length);
  void (*end)(struct profd_label* label);
  void (*trace)(struct profd_label* label, const unsigned char trace_id[16],
                const unsigned char span_id[8]);
};

/* Writes the thread pointer, and after each line of input an empty line. The line "trace" is no
 * name: it works on a trace from then on. */
static int run_labelled(const struct label_functions* labels) {
  static const unsigned char trace_id[16] = {1, [15] = 0xfe}, span_id[8] = {[7] = 10};
  struct profd_label outer, inner, traced;
  int has_trace = 0;
  char line[100];
  labels->begin(&outer, labels->key("step"), "17", 2);
  labels->begin(&inner, labels->key("phase"), "load", 4);
  printf("%lu\n", (unsigned long)__builtin_thread_pointer());
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin)) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "trace")) {
      labels->key(line);
    } else if (!has_trace) {
      labels->trace(&traced, trace_id, span_id);
      has_trace = 1;
    }
    printf("\n");
    fflush(stdout);
  }
  if (has_trace) labels->end(&traced);
  labels->end(&inner);
  labels->end(&outer);
  return 0;
}
