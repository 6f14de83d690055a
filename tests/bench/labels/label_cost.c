/* What labels cost a C program: bench_labels COUNT. A line each: name, ns a label with its end. */
#include "deploy/labels/profd_labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of CPU time: others may want the CPU, too. */
static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double label_ns(int key, long count) {
  const double begin = now_ns();
  long i;
  for (i = 0; i < count; i++) {
    struct profd_label label;
    profd_label_begin(&label, key, "1234567", 7);
    profd_label_end(&label);
  }
  return (now_ns() - begin) / (double)count;
}

static double trace_ns(long count) {
  static const unsigned char trace_id[16] = {1}, span_id[8] = {2};
  const double begin = now_ns();
  long i;
  for (i = 0; i < count; i++) {
    struct profd_label label;
    profd_trace_begin(&label, trace_id, span_id);
    profd_label_end(&label);
  }
  return (now_ns() - begin) / (double)count;
}

int main(int argc, char** argv) {
  const long count = argc == 2 ? atol(argv[1]) : 0;
  const int step = profd_label_key("step");
  struct profd_label outer, inner;
  if (count <= 0 || step < 0) return 2;
  printf("a label\t%.1f\n", label_ns(step, count));
  printf("a trace\t%.1f\n", trace_ns(count));
  profd_label_begin(&outer, profd_label_key("request"), "1234567", 7);
  profd_label_begin(&inner, profd_label_key("phase"), "forward", 7);
  printf("a label inside of two others\t%.1f\n", label_ns(step, count));
  profd_label_end(&inner);
  profd_label_end(&outer);
  return 0;
}
