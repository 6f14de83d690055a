/* SPDX-License-Identifier: Apache-2.0 */
/* A program that says of itself, as CPython does, that it holds an interpreter of VERSION. Its
 * layout is that of _Py_DebugOffsets; nothing behind it is true. Uses its CPU until its input ends.
 */
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

struct runtime {
  char cookie[8];
  uint64_t version;
  uint64_t free_threaded;
  uint64_t offsets[200];
};

__attribute__((visibility("default"))) struct runtime _PyRuntime = {
    {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'}, VERSION, FREE_THREADED, {0}};
__attribute__((visibility("default"))) const uint64_t Py_Version = VERSION;
__attribute__((visibility("default"), noinline)) uint64_t _PyEval_EvalFrameDefault(
    uint64_t rounds) {
  volatile uint64_t sum = 0;
  while (rounds-- > 0) sum += rounds;
  return sum;
}

static uint64_t interpreter[64];

int main(void) {
  struct pollfd input = {0, POLLIN, 0};
  // At 32 versions before 3.13 have their list of interpreters; this one has no threads.
  _PyRuntime.offsets[1] = (uint64_t)interpreter;
  if (write(1, "ready\n", 6) != 6) return 1;
  while (poll(&input, 1, 0) == 0) _PyEval_EvalFrameDefault(1000000);
  return 0;
}
