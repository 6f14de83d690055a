/* Has two labels, and waits until its input ends. For each line of input it uses one more name. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "deploy/labels/profd_labels.h"

struct label_functions {
  int (*key)(const char* name);
  void (*begin)(struct profd_label* label, int key, const char* value, size_t length);
  void (*end)(struct profd_label* label);
};

/* Writes the thread pointer, and after each line of input an empty line. */
static int run_labelled(const struct label_functions* labels) {
  struct profd_label outer, inner;
  char line[100];
  labels->begin(&outer, labels->key("step"), "17", 2);
  labels->begin(&inner, labels->key("phase"), "load", 4);
  printf("%lu\n", (unsigned long)__builtin_thread_pointer());
  fflush(stdout);
  while (fgets(line, sizeof(line), stdin)) {
    line[strcspn(line, "\n")] = '\0';
    labels->key(line);
    printf("\n");
    fflush(stdout);
  }
  labels->end(&inner);
  labels->end(&outer);
  return 0;
}
