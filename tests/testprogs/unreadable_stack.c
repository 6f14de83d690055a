/*
 * A program whose stack cannot be read: unreadable_stack FILE. It prints `ready`, then its stack
 * pointer lies in a mapping of FILE that it has not touched, and it waits for ever. A reader of its
 * stack reads FILE.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>

int main(int argc, char** argv) {
  int file = argc == 2 ? open(argv[1], O_RDONLY) : -1;
  char* page = mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  if (file < 0 || page == MAP_FAILED) return 2;
  puts("ready");
  fflush(stdout);
  /* pause() does not use the stack. */
  __asm__ volatile(
      "mov %0, %%rsp\n"
      "1: mov %1, %%eax\n"
      "syscall\n"
      "jmp 1b\n"
      :
      : "r"(page + 2048), "i"(SYS_pause)
      : "memory");
}
