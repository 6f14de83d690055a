/* SPDX-License-Identifier: Apache-2.0 */
/* hanging_python FILE: a program that looks like CPython 3.11, with the first page of FILE in place
 * of its runtime's memory. Waits until its input ends. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

__attribute__((visibility("default"), aligned(PAGE))) unsigned char _PyRuntime[2 * PAGE] = {1};
__attribute__((visibility("default"))) const uint64_t Py_Version = 0x030b01f0;
__attribute__((visibility("default"), noinline)) int _PyEval_EvalFrameDefault(void) {
  char byte;
  return read(0, &byte, 1) == 1;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  int fd = open(arguments[1], O_RDONLY);
  if (fd < 0 || mmap(_PyRuntime, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
    return 1;
  if (write(1, "ready\n", 6) != 6) return 1;
  while (_PyEval_EvalFrameDefault()) {
  }
  return 0;
}
