// Waits, again and again, in functions for which there are no unwind rules, but that keep frame
// pointers.
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#define KEPT __attribute__((noinline))

KEPT int innermost_without_rules(int value) {
  const struct timespec wait = {0, 1000000};
  nanosleep(&wait, NULL);
  return value + 1;
}

KEPT int middle_without_rules(int value) {
  volatile int kept[9] = {value};
  return innermost_without_rules(value) + kept[value % 9];
}

KEPT int outermost_without_rules(int value) { return middle_without_rules(value * 3) + value; }

int main(void) {
  volatile int sum = 0;
  for (;;) sum = outermost_without_rules(sum % 5);
}
