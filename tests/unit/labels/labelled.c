/* Publishes labels by a library that it loads: labelled LIBRARY. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "tests/unit/labels/labelled.h"

int main(int count, char** arguments) {
  struct label_functions labels;
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (!library) {
    fprintf(stderr, "labelled: %s\n", dlerror());
    return 1;
  }
  *(void**)&labels.key = dlsym(library, "profd_label_key");
  *(void**)&labels.begin = dlsym(library, "profd_label_begin");
  *(void**)&labels.end = dlsym(library, "profd_label_end");
  *(void**)&labels.trace = dlsym(library, "profd_trace_begin");
  return run_labelled(&labels);
}
