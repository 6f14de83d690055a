// Blocks inside a library, or in functions of its own, that come to their place in another way
// each:
//
//   mapped_program own               its own
//   mapped_program load LIBRARY      loaded
//   mapped_program reload ONE OTHER  loaded where another was, which it has blocked in before
//   mapped_program over ONE OTHER    mapped over another, which it has blocked in before
//   mapped_program fork LIBRARY      loaded, then called in a child, of which this one waits
//   mapped_program exec PROGRAM ...  loaded by exec, of a thread that has blocked before
//
// When it blocks it says its pid, and where each of its functions on the stack returns to, leaf
// first; it goes on when it is reported a line, and ends with its input.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/root/unwind/mapped_library.h"

#define KEPT __attribute__((noinline))

static void* reported[8];
static int reported_count;

static void Report(void* return_address) { reported[reported_count++] = return_address; }

static KEPT void Block(void) {
  Report(__builtin_return_address(0));
  printf("%d", (int)getpid());
  while (reported_count > 0) printf(" %lx", (unsigned long)reported[--reported_count]);
  printf("\n");
  fflush(stdout);
  char byte = 0;
  do {
    if (read(0, &byte, 1) != 1) _exit(0);
  } while (byte != '\n');
}

static const struct world world = {Report, Block};

static void Fail(const char* what) {
  printf("failed: %s\n", what);
  exit(1);
}

static enter_function Load(const char* path, void** handle) {
  *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (*handle == NULL) Fail(dlerror());
  return (enter_function)dlsym(*handle, "Enter");
}

static uintptr_t BaseOf(void* handle) {
  struct link_map* map = NULL;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) Fail("dlinfo");
  return map->l_addr;
}

static int CallIn(const char* path) {
  void* handle = NULL;
  return (int)Load(path, &handle)(&world, 2);
}

static int Reload(const char* one, const char* other) {
  void* handle = NULL;
  Load(one, &handle)(&world, 2);
  const uintptr_t base = BaseOf(handle);
  if (dlclose(handle) != 0) Fail("dlclose");
  const enter_function enter = Load(other, &handle);
  if (BaseOf(handle) != base) Fail("the other library lies elsewhere");
  return (int)enter(&world, 2);
}

// The executable segment of a loaded library.
struct code {
  uintptr_t begin;
  size_t bytes;
  long file_offset;
};

static int FindCode(struct dl_phdr_info* info, size_t bytes, void* to) {
  (void)bytes;
  struct code* code = to;
  for (int i = 0; info->dlpi_addr == code->begin && i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || (segment->p_flags & PF_X) == 0) continue;
    code->begin += segment->p_vaddr;
    code->bytes = segment->p_memsz;
    code->file_offset = (long)segment->p_offset;
    return 1;
  }
  return 0;
}

static struct code CodeOf(void* handle) {
  struct code code = {BaseOf(handle), 0, 0};
  if (dl_iterate_phdr(FindCode, &code) != 1) Fail("no code");
  return code;
}

static int MapOver(const char* one, const char* other) {
  void* handle = NULL;
  void* other_handle = NULL;
  Load(one, &handle)(&world, 2);
  const enter_function enter = Load(other, &other_handle);
  const struct code code = CodeOf(handle);
  const struct code other_code = CodeOf(other_handle);
  FILE* file = fopen(other, "r");
  if (file == NULL ||
      mmap((void*)code.begin, other_code.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
           fileno(file), other_code.file_offset) != (void*)code.begin)
    Fail("cannot map over");
  ((enter_function)((uintptr_t)enter - other_code.begin + code.begin))(&world, 2);
  _exit(0);  // the loader would end the first library by code that is no longer there
}

static int CallInChild(const char* path) {
  void* handle = NULL;
  const enter_function enter = Load(path, &handle);
  const pid_t child = fork();
  if (child != 0) return waitpid(child, NULL, 0) == child ? 0 : 1;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return (int)enter(&world, 2);
}

int main(int count, char** arguments) {
  const char* how = count > 1 ? arguments[1] : "";
  if (strcmp(how, "own") == 0) return (int)Enter(&world, 2);
  if (strcmp(how, "load") == 0 && count == 3) return CallIn(arguments[2]);
  if (strcmp(how, "reload") == 0 && count == 4) return Reload(arguments[2], arguments[3]);
  if (strcmp(how, "over") == 0 && count == 4) return MapOver(arguments[2], arguments[3]);
  if (strcmp(how, "fork") == 0 && count == 3) return CallInChild(arguments[2]);
  if (strcmp(how, "exec") == 0 && count > 3) {
    Enter(&world, 2);
    return execv(arguments[2], arguments + 2);
  }
  return 2;
}
