/* Publishes labels by itself. */
#include "tests/unit/labels/labelled.h"

int main(void) {
  const struct label_functions labels = {profd_label_key, profd_label_begin, profd_label_end,
                                         profd_trace_begin};
  return run_labelled(&labels);
}
