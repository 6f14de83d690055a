/* A run time: makes code, wraps it in an ELF object in its memory and registers that by GDB's JIT
 * interface. Its main thread calls run_code -> made::outer -> stays_in_callee, which computes or
 * sleeps for some time; in between made::outer is in a loop of its own.
 *
 * made::outer has no frame pointer, and jumps to an address in a register, which no analysis of
 * code follows: only its unwind information says who called it.
 *
 * registered_program relocatable|linked|loop|huge|nowhere|changing|none: how the object is made, or
 * what is wrong with the list beside it; none: it is not registered. */
#define _GNU_SOURCE
#include <elf.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define KEPT __attribute__((noinline, noclone, used))

struct jit_code_entry {
  struct jit_code_entry* next;
  struct jit_code_entry* previous;
  const void* address;
  uint64_t bytes;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action;
  struct jit_code_entry* relevant;
  struct jit_code_entry* first;
};

KEPT void __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

/* made::outer(void (*callee)()) */
static const unsigned char kCode[] = {
    0x55,                                     /*  0 push %rbp */
    0x53,                                     /*  1 push %rbx */
    0x48, 0x83, 0xec, 0x48,                   /*  2 sub $0x48,%rsp */
    0x48, 0x89, 0xfb,                         /*  6 mov %rdi,%rbx */
    0x31, 0xed,                               /*  9 xor %ebp,%ebp */
    0x48, 0x8d, 0x05, 0x07, 0x00, 0x00, 0x00, /* 11 lea 25(%rip),%rax */
    0x31, 0xd2,                               /* 18 xor %edx,%edx */
    0x48, 0x01, 0xd0,                         /* 20 add %rdx,%rax */
    0xff, 0xe0,                               /* 23 jmp *%rax */
    0xb9, 0x00, 0x2d, 0x31, 0x01,             /* 25 mov $20000000,%ecx */
    0xff, 0xc9,                               /* 30 dec %ecx */
    0x75, 0xfc,                               /* 32 jnz 30 */
    0xff, 0xd3,                               /* 34 call *%rbx */
    0x48, 0x83, 0xc4, 0x48,                   /* 36 add $0x48,%rsp */
    0x5b,                                     /* 40 pop %rbx */
    0x5d,                                     /* 41 pop %rbp */
    0xc3,                                     /* 42 ret */
};

/* A CIE (length, id, version, "zR", alignments, return address, pc-relative pointers) and the FDE
 * of that code. */
static const unsigned char kFrames[] = {
    0x14, 0,    0,    0,    0,    0,    0,    0,    1, 'z', 'R', 0, 1, 0x78, 16,
    1,    0x1b, 0x0c, 7,    8, /* def_cfa rsp+8 */
    0x90, 1,                   /* return address at cfa-8 */
    0,    0,    0x24, 0,    0,    0,    0x1c, 0,    0, 0,   0,   0, 0, 0,    sizeof kCode,
    0,    0,    0,    0,    0x41, 0x0e, 16,   0x86, 2, /* push %rbp */
    0x41, 0x0e, 24,   0x83, 3,                         /* push %rbx */
    0x44, 0x0e, 96,                                    /* sub */
    0x62, 0x0e, 24,                                    /* add, 34 bytes on */
    0x41, 0x0e, 16,                                    /* pop */
    0x41, 0x0e, 8,                                     /* pop */
    0,
};
enum { kFrameBegin = 32 }; /* of the place in kFrames that leads to the code */
_Static_assert(sizeof kFrames == 64, "the lengths of the entries say so");

static const char kNames[] = "\0.text\0.eh_frame\0.rela.eh_frame\0.symtab\0.strtab";
static const char kSymbolNames[] = "\0_ZN4made5outerEPFvvE";

enum { kNull, kText, kEhFrame, kRelocations, kSymbols, kStrings, kSections };

struct object {
  Elf64_Ehdr header;
  unsigned char code[64];
  unsigned char frames[sizeof kFrames];
  Elf64_Rela relocations[1];
  Elf64_Sym symbols[2];
  char names[sizeof kNames];
  char symbol_names[sizeof kSymbolNames];
  Elf64_Shdr sections[kSections];
};

static Elf64_Shdr section(uint32_t name, uint32_t type, uint64_t flags, uint64_t address,
                          size_t offset, size_t bytes) {
  Elf64_Shdr made = {0};
  made.sh_name = name;
  made.sh_type = type;
  made.sh_flags = flags;
  made.sh_addr = address;
  made.sh_offset = offset;
  made.sh_size = bytes;
  made.sh_addralign = 1;
  return made;
}

/* Relocatable: as LLVM has it: values of symbols count from their section, and .eh_frame is as the
 * compiler has written it. Linked: all addresses are there. */
static void make_object(const unsigned char* code, int relocatable, struct object* made) {
  const Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = relocatable ? ET_REL : ET_EXEC,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_shoff = offsetof(struct object, sections),
      .e_ehsize = sizeof(Elf64_Ehdr),
      .e_shentsize = sizeof(Elf64_Shdr),
      .e_shnum = kSections,
      .e_shstrndx = kStrings};
  made->header = header;
  memcpy(made->code, kCode, sizeof kCode);
  memcpy(made->frames, kFrames, sizeof kFrames);
  memcpy(made->names, kNames, sizeof kNames);
  memcpy(made->symbol_names, kSymbolNames, sizeof kSymbolNames);
  const uint64_t frames_at = (uint64_t)(uintptr_t)made->frames;
  const uint64_t code_at = (uint64_t)(uintptr_t)code;
  made->symbols[1].st_name = 1;
  made->symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  made->symbols[1].st_shndx = kText;
  made->symbols[1].st_value = relocatable ? 0 : code_at;
  made->symbols[1].st_size = sizeof kCode;
  made->relocations[0].r_offset = kFrameBegin;
  made->relocations[0].r_info = ELF64_R_INFO(1, R_X86_64_PC32);
  if (!relocatable) {
    const int32_t distance = (int32_t)(code_at - (frames_at + kFrameBegin));
    memcpy(made->frames + kFrameBegin, &distance, sizeof distance);
  }
  made->sections[kText] = section(1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code_at,
                                  offsetof(struct object, code), sizeof kCode);
  made->sections[kEhFrame] = section(7, SHT_PROGBITS, SHF_ALLOC, relocatable ? 0 : frames_at,
                                     offsetof(struct object, frames), sizeof kFrames);
  made->sections[kRelocations] =
      section(17, relocatable ? SHT_RELA : SHT_NULL, 0, 0, offsetof(struct object, relocations),
              sizeof made->relocations);
  made->sections[kRelocations].sh_link = kSymbols;
  made->sections[kRelocations].sh_info = kEhFrame;
  made->sections[kRelocations].sh_entsize = sizeof(Elf64_Rela);
  made->sections[kSymbols] =
      section(32, SHT_SYMTAB, 0, 0, offsetof(struct object, symbols), sizeof made->symbols);
  made->sections[kSymbols].sh_link = kStrings;
  made->sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  made->sections[kSymbols].sh_info = 1;
  /* Both tables of names in one. */
  made->sections[kStrings] = section(40, SHT_STRTAB, 0, 0, offsetof(struct object, names),
                                     sizeof kNames + sizeof kSymbolNames);
  made->symbols[1].st_name += sizeof kNames;
}

static void add(struct jit_code_entry* entry) {
  entry->next = __jit_debug_descriptor.first;
  if (entry->next != NULL) entry->next->previous = entry;
  __jit_debug_descriptor.action = 1;
  __jit_debug_descriptor.first = entry;
  __jit_debug_descriptor.relevant = entry;
  __jit_debug_register_code();
}

static struct jit_code_entry good, bad, other;

/* Adds and removes one object and another, for ever. */
static void* change(void* unused) {
  (void)unused;
  const struct timespec wait = {0, 100000};
  for (;;) {
    __jit_debug_descriptor.first = &bad;
    __jit_debug_descriptor.relevant = &bad;
    nanosleep(&wait, NULL);
    __jit_debug_descriptor.first = &good;
    __jit_debug_descriptor.relevant = &good;
    nanosleep(&wait, NULL);
  }
  return NULL;
}

static void break_list(const char* how) {
  if (strcmp(how, "loop") == 0) {
    other = good;
    other.next = &good;
    good.next = &other;
  } else if (strcmp(how, "huge") == 0) {
    bad.address = good.address;
    bad.bytes = (uint64_t)1 << 62;
    add(&bad);
  } else if (strcmp(how, "nowhere") == 0) {
    bad.address = (const void*)(uintptr_t)0xdead000000;
    bad.bytes = 4096;
    add(&bad);
    good.next = (struct jit_code_entry*)(uintptr_t)0xffffffffdead0000;
  } else if (strcmp(how, "changing") == 0) {
    pthread_t thread;
    bad = good;
    bad.bytes = 100; /* cut */
    bad.next = &good;
    if (pthread_create(&thread, NULL, change, NULL) != 0) exit(1);
  } else if (strcmp(how, "relocatable") != 0 && strcmp(how, "linked") != 0 &&
             strcmp(how, "none") != 0) {
    exit(2);
  }
}

/* For 20 ms each. */
KEPT void computes_in_callee(void) {
  for (volatile uint32_t left = 10000000; left > 0;) left = left - 1;
}
KEPT void sleeps_in_callee(void) {
  const struct timespec wait = {0, 20000000};
  nanosleep(&wait, NULL);
}

KEPT void run_code(void (*code)(void (*)(void)), void (*callee)(void)) {
  code(callee);
  __asm__ volatile("" ::: "memory"); /* no tail call */
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  /* The object lies behind the code, whose mapping is its own. */
  enum { kPage = 4096 };
  unsigned char* code =
      mmap(NULL, (size_t)2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  memcpy(code, kCode, sizeof kCode);
  if (mprotect(code, kPage, PROT_READ | PROT_EXEC) != 0) return 1;
  struct object* object = (struct object*)(code + kPage);
  make_object(code, strcmp(argv[1], "linked") != 0, object);
  good.address = object;
  good.bytes = sizeof(struct object);
  if (strcmp(argv[1], "none") != 0) add(&good);
  break_list(argv[1]);
  puts("ready");
  fflush(stdout);
  for (;;) {
    run_code((void (*)(void (*)(void)))(uintptr_t)code, computes_in_callee);
    run_code((void (*)(void (*)(void)))(uintptr_t)code, sleeps_in_callee);
  }
}
