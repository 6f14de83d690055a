// A library whose functions keep no frame pointers. Built twice, with frames of other sizes: what
// holds for one is wrong for the other. Needs nothing of the loader: it runs wherever it lies.
#include "tests/root/unwind/mapped_library.h"

#define KEPT __attribute__((noinline))

static KEPT long Inner(const struct world* world, long value) {
  volatile long kept[PROFD_KEPT] = {value};
  world->report(__builtin_return_address(0));
  world->block();
  return kept[value % PROFD_KEPT];
}

static KEPT long Middle(const struct world* world, long value, long other) {
  volatile long kept[2 * PROFD_KEPT + 3] = {value, other};
  world->report(__builtin_return_address(0));
  const long below = Inner(world, value * 3 + other);
  return below * value + other + kept[value % PROFD_KEPT];
}

long Enter(const struct world* world, long value) {
  volatile long kept[3 * PROFD_KEPT + 1] = {value};
  world->report(__builtin_return_address(0));
  const long below = Middle(world, value + 1, value * 5);
  return below + value * 7 + kept[value % PROFD_KEPT];
}
