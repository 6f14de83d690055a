// Runs until it is killed, in a function with another one inlined into it, both in a namespace.
#include <cstdio>

namespace shop {

__attribute__((noinline)) void Ring(volatile unsigned& sum);

inline __attribute__((always_inline)) void AddPrice(volatile unsigned& sum) {
  for (unsigned i = 0; i < 100'000; ++i) sum = sum + i;
}

void Ring(volatile unsigned& sum) {
  AddPrice(sum);
  sum = sum + 1;  // not a tail call
}

}  // namespace shop

int main() {
  volatile unsigned sum = 0;
  std::puts("ready");
  std::fflush(stdout);
  for (;;) shop::Ring(sum);
}
