// Says where its function is and waits until its input ends. Built twice, with two names.
#include <stdio.h>

__attribute__((noinline)) int PUPPET_FUNCTION(int value) { return value * 3 + 1; }

int main(void) {
  printf("%p\n", (void*)&PUPPET_FUNCTION);
  fflush(stdout);
  return getchar() == 0 ? PUPPET_FUNCTION(0) : 0;
}
