/* A run time that lists nothing: makes three functions and calls one after the other, by pointer.
 * The first is at the begin of the mapping, the second behind it and begins with endbr64, as what
 * is called by pointer may, and the third has the next page to itself, as kernels of oneDNN have.
 * Prints where they begin and where they end. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { kPage = 4096, kMultiplications = 300, kFunctions = 3 };

static const unsigned char kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const unsigned char kBegin[] = {0x53, 0xb9, 0x00, 0x20,
                                       0x00, 0x00};                 /* push %rbx;
                                                                       mov $8192,%ecx */
static const unsigned char kMultiply[] = {0x6b, 0xc0, 0x03};        /* imul $3,%eax */
static const unsigned char kDecrement[] = {0xff, 0xc9, 0x0f, 0x85}; /* dec %ecx; jnz */
static const unsigned char kEnd[] = {0x5b, 0xc3};                   /* pop %rbx; ret */

static unsigned char* put(unsigned char* at, const void* bytes, size_t count) {
  memcpy(at, bytes, count);
  return at + count;
}

/* Returns its end. */
static unsigned char* make(unsigned char* at, int is_marked) {
  if (is_marked) at = put(at, kEndbr64, sizeof kEndbr64);
  at = put(at, kBegin, sizeof kBegin);
  unsigned char* loop = at;
  for (int i = 0; i < kMultiplications; ++i) at = put(at, kMultiply, sizeof kMultiply);
  at = put(at, kDecrement, sizeof kDecrement);
  const int32_t distance = (int32_t)(loop - (at + sizeof distance));
  at = put(at, &distance, sizeof distance);
  return put(at, kEnd, sizeof kEnd);
}

int main(void) {
  unsigned char* code =
      mmap(NULL, (size_t)2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  unsigned char* begins[kFunctions] = {code, code + 1024, code + kPage};
  unsigned char* ends[kFunctions];
  for (int i = 0; i < kFunctions; ++i) ends[i] = make(begins[i], i == 1);
  if (mprotect(code, (size_t)2 * kPage, PROT_READ | PROT_EXEC) != 0) return 1;
  for (int i = 0; i < kFunctions; ++i)
    printf("%lx %lx ", (unsigned long)(uintptr_t)begins[i], (unsigned long)(uintptr_t)ends[i]);
  puts("");
  fflush(stdout);
  for (;;)
    for (int i = 0; i < kFunctions; ++i) ((void (*)(void))(uintptr_t)begins[i])();
}
