/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Registers of user code on the way up its stack. Those that a function must restore are followed
 * lazily: where one is saved is remembered, and read only when a rule needs it. The others are
 * known where the walk begins and where a signal interrupted, nowhere else.
 */
#pragma once

#include "bpf/maps.bpf.h"

/* DWARF numbers. */
#define REGISTER_RAX 0
#define REGISTER_RBX 3
#define REGISTER_RSI 4
#define REGISTER_RDI 5
#define REGISTER_RBP 6
#define REGISTER_RSP 7
#define REGISTER_R12 12
#define REGISTERS 16
#define ALL_REGISTERS 0xffff
/* What a function gives back to its caller: rbx, rbp, r12 to r15. */
#define FOLLOWED_REGISTERS 0xf048

/* Where the walk reads: constants, so that each program holds one reader. */
#define READ_CURRENT 0 /* memory of the running thread; a page that is not there is a fault */
/* Memory of any task: what was copied of its stack, else it may sleep and fetch the page. The walk
 * is that of a struct reader. */
#define READ_TASK 1

/* The registers of a struct pt_regs, whose fields the two headers call ax or rax. */
#define COPY_REGISTERS(to, from, R) \
  do {                              \
    (to)[0] = (from)->R##ax;        \
    (to)[1] = (from)->R##dx;        \
    (to)[2] = (from)->R##cx;        \
    (to)[3] = (from)->R##bx;        \
    (to)[4] = (from)->R##si;        \
    (to)[5] = (from)->R##di;        \
    (to)[6] = (from)->R##bp;        \
    (to)[7] = (from)->R##sp;        \
    (to)[8] = (from)->r8;           \
    (to)[9] = (from)->r9;           \
    (to)[10] = (from)->r10;         \
    (to)[11] = (from)->r11;         \
    (to)[12] = (from)->r12;         \
    (to)[13] = (from)->r13;         \
    (to)[14] = (from)->r14;         \
    (to)[15] = (from)->r15;         \
  } while (0)

/* What bpf_loop's callback gets. */
struct walk_context {
  struct profd_sample_event* event;
  struct walk* walk;
  struct task_struct* task; /* READ_TASK */
};

static __always_inline struct stack_block* block_of(struct walk* walk) {
  return &((struct reader*)((void*)walk - __builtin_offsetof(struct reader, walk)))->block;
}

/* Copies the stack from the stack pointer on, to the end of its page at least. */
static __always_inline void copy_stack_block(struct walk* walk, struct task_struct* task) {
  struct stack_block* block = block_of(walk);
  u64 begin = walk->registers.value[REGISTER_RSP] & ~7ull;
  u64 in_page = STACK_BLOCK_BYTES - (begin & (STACK_BLOCK_BYTES - 1));
  block->begin = begin;
  block->bytes = STACK_BLOCK_BYTES;
  block->live_reads = 0;
  if (!bpf_copy_from_user_task(block->words, STACK_BLOCK_BYTES, (void*)begin, task, 0)) return;
  forget(in_page);
  if (in_page > STACK_BLOCK_BYTES ||
      bpf_copy_from_user_task(block->words, in_page, (void*)begin, task, 0))
    in_page = 0;
  block->bytes = in_page;
}

/* The same for a walk that reads none of the stack. */
static __always_inline void empty_stack_block(struct walk* walk) {
  block_of(walk)->bytes = 0;
  block_of(walk)->live_reads = 0;
}

/* Reads what was copied; 0: that was not. */
static __always_inline int read_block(struct stack_block* block, void* to, u32 bytes, u64 from) {
  u64 offset = from - block->begin;
  if (bytes > STACK_BLOCK_BYTES || offset > STACK_BLOCK_BYTES - bytes ||
      offset + bytes > block->bytes)
    return 0;
  /* Once more, with a constant: kernel 6.1 learns no bounds from two registers. */
  forget(offset);
  if (offset >= STACK_BLOCK_BYTES) return 0;
  return !bpf_probe_read_kernel(to, bytes, (void*)block->words + offset);
}

/* Reads user memory; 0 when it cannot be read. */
static __always_inline int read_memory(struct walk_context* context, void* to, u32 bytes, u64 from,
                                       int reader) {
  if (reader == READ_TASK) {
    struct stack_block* block = block_of(context->walk);
    if (read_block(block, to, bytes, from)) return 1;
    block->live_reads++;
    return !bpf_copy_from_user_task(to, bytes, (void*)from, context->task, 0);
  }
  return !bpf_probe_read_user(to, bytes, (void*)from);
}

/* The same; the walk is flagged when it cannot be read. */
static __always_inline int read_user(struct walk_context* context, void* to, u32 bytes, u64 from,
                                     int reader) {
  if (read_memory(context, to, bytes, from, reader)) return 1;
  context->walk->flags |= PROFD_STACK_USER_FAULT;
  return 0;
}

/* Value of a register in the current frame; 0, and the walk is flagged, when it is not known. */
static __always_inline int read_register(struct walk_context* context, u32 number, u64* value,
                                         int reader) {
  struct registers* registers = &context->walk->registers;
  u32 bit = 1u << (number % REGISTERS);
  number %= REGISTERS;
  if (!((registers->known | registers->saved) & bit)) {
    context->walk->flags |= PROFD_STACK_REGISTER_LOST;
    return 0;
  }
  *value = registers->value[number];
  if (registers->known & bit) return 1;
  if (!read_user(context, value, sizeof(*value), *value, reader)) return 0;
  registers->value[number] = *value;
  registers->known |= bit;
  return 1;
}

/* A followed register of the caller: where the rule says it is. */
static __always_inline void follow(struct registers* registers, u32 number, s64 place, u64 base) {
  u32 bit = 1u << number;
  if (place == PROFD_SAME) return;
  registers->known &= ~bit;
  registers->saved &= ~bit;
  if (place == PROFD_LOST) return;
  registers->saved |= bit;
  registers->value[number] = base + (u64)place * sizeof(u64);
}

/* From the registers of a frame to those of its caller; `base` is what saved[] counts from. */
static __always_inline void leave_frame(struct registers* registers,
                                        const struct profd_unwind_rule* rule, u64 cfa, u64 base) {
  registers->known &= FOLLOWED_REGISTERS;
  follow(registers, REGISTER_RBP, rule->saved[PROFD_SAVED_RBP], base);
  follow(registers, REGISTER_RBX, rule->saved[PROFD_SAVED_RBX], base);
  follow(registers, REGISTER_R12, rule->saved[PROFD_SAVED_R12], base);
  follow(registers, REGISTER_R12 + 1, rule->saved[PROFD_SAVED_R13], base);
  follow(registers, REGISTER_R12 + 2, rule->saved[PROFD_SAVED_R14], base);
  follow(registers, REGISTER_R12 + 3, rule->saved[PROFD_SAVED_R15], base);
  registers->value[REGISTER_RSP] = cfa;
  registers->known |= 1u << REGISTER_RSP;
}

/* struct ucontext: its registers, and their order as DWARF numbers; the last is rip. */
#define UCONTEXT_REGISTERS 40

/* Takes all registers that the kernel put on the stack for a signal. */
static __always_inline void take_signal_registers(struct walk* walk) {
  const u64* from = walk->signal_registers;
  u64* to = walk->registers.value;
  for (int i = 0; i < 8; i++) to[8 + i] = from[i]; /* r8 to r15 */
  to[5] = from[8];                                 /* rdi */
  to[4] = from[9];                                 /* rsi */
  to[6] = from[10];                                /* rbp */
  to[3] = from[11];                                /* rbx */
  to[1] = from[12];                                /* rdx */
  to[0] = from[13];                                /* rax */
  to[2] = from[14];                                /* rcx */
  to[7] = from[15];                                /* rsp */
  walk->pc = from[16];
  walk->exact = 1;
  walk->registers.known = ALL_REGISTERS;
  walk->registers.saved = 0;
}
