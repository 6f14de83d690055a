/* A run time: makes code, lists it in a jitdump in the folder that it is given, and is in it for as
 * long as it runs (linux/tools/perf/Documentation/jitdump-specification.txt). */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAME "made::at_run_time"

/* push %rbp; mov %rsp,%rbp; mov $100000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char kCode[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0x00, 0xe1, 0xf5,
                                      0x05, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

struct header {
  uint32_t magic, version, total_size, elf_machine, pad, pid;
  uint64_t timestamp, flags;
};

struct load {
  uint32_t id, total_size;
  uint64_t timestamp;
  uint32_t pid, tid;
  uint64_t vma, code_address, code_size, code_index;
  char name[sizeof NAME];
  unsigned char code[sizeof kCode];
} __attribute__((packed));

int main(int argc, char** argv) {
  const uint32_t pid = (uint32_t)getpid();
  char path[4096];
  if (argc != 2) return 2;
  snprintf(path, sizeof path, "%s/jit-%u.dump", argv[1], pid);
  const int dump = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  unsigned char* code = mmap(NULL, sizeof kCode, PROT_READ | PROT_WRITE | PROT_EXEC,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (dump < 0 || code == MAP_FAILED) return 1;
  memcpy(code, kCode, sizeof kCode);
  const struct header header = {0x4a695444, 1, sizeof header, EM_X86_64, 0, pid, 0, 0};
  struct load load = {0, sizeof load, 0, pid, pid, 0, 0, sizeof kCode, 0, NAME, {0}};
  load.vma = load.code_address = (uint64_t)code;
  memcpy(load.code, kCode, sizeof kCode);
  if (write(dump, &header, sizeof header) != sizeof header ||
      write(dump, &load, sizeof load) != sizeof load ||
      mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0) == MAP_FAILED)
    return 1;
  puts("ready");
  fflush(stdout);
  for (;;) ((void (*)(void))(uintptr_t)code)();
}
