/* SPDX-License-Identifier: Apache-2.0 */
/* hanging_maps FILE: a process whose list of mappings cannot be read, on a file system that answers
 * no reading (`hang reads` of hanging_files.py). One thread reads FILE, so that its page is locked;
 * after a line of input another one maps FILE, which was opened for direct I/O. That waits for the
 * page, with the lock of all mappings. Says `reading` and `mapping`. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (1 << 20)

static const char* path;
static char* memory;

static void* reads(void* unused) {
  char byte;
  int fd = open(path, O_RDONLY);
  if (write(1, "reading\n", 8) == 8 && pread(fd, &byte, 1, 0) == 1) return unused;
  _exit(1);
}

static void* maps(void* unused) {
  int fd = open(path, O_RDONLY);
  if (write(1, "mapping\n", 8) != 8) _exit(1);
  /* In place of another mapping: kernels that lock each mapping by itself lock this one. */
  mmap(memory, BYTES, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
  return unused;
}

__attribute__((noinline)) void waits_while_its_mappings_hang(void) { usleep(5000); }

int main(int count, char** arguments) {
  pthread_t reading, mapping;
  char byte;
  if (count != 2) return 2;
  path = arguments[1];
  memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mlockall(MCL_CURRENT) != 0) return 1;
  if (pthread_create(&reading, 0, reads, 0) != 0 || read(0, &byte, 1) != 1) return 1;
  if (pthread_create(&mapping, 0, maps, 0) != 0) return 1;
  for (;;) waits_while_its_mappings_hang();
}
