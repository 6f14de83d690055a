// Waits, again and again, in functions for which there are no unwind rules, but that keep frame
// pointers. They have no .eh_frame, and leave to an address in a register, which no analysis
// follows.
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#define KEPT __attribute__((noinline))
#define LEAVE_BY_REGISTER()                                                               \
  __asm__ volatile(                                                                       \
      "lea 1f(%%rip), %%rax\n\txor %%edx, %%edx\n\tadd %%rdx, %%rax\n\tjmp *%%rax\n1:" :: \
          : "rax", "rdx", "cc")

KEPT int innermost_without_rules(int value) {
  const struct timespec wait = {0, 1000000};
  LEAVE_BY_REGISTER();
  nanosleep(&wait, NULL);
  return value + 1;
}

KEPT int middle_without_rules(int value) {
  volatile int kept[9] = {value};
  LEAVE_BY_REGISTER();
  return innermost_without_rules(value) + kept[value % 9];
}

KEPT int outermost_without_rules(int value) {
  LEAVE_BY_REGISTER();
  return middle_without_rules(value * 3) + value;
}

int main(void) {
  volatile int sum = 0;
  for (;;) sum = outermost_without_rules(sum % 5);
}
