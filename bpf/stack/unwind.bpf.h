/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * User stacks, by the rules of unwind tables. From the registers of a frame its rule makes those of
 * its caller, until a rule says that there is none, or the return address is zero. Code that no
 * rule is known for is left by its frame pointer, and the stack says from where on.
 *
 * frames[0] is the program counter: when the thread was interrupted, the instruction it was at; in
 * a syscall, the one after `syscall`. So is the first frame after a signal's. All others are return
 * addresses, one past the call, which may be the last instruction of its function: their rule is
 * that of the byte before. A program counter after `syscall` is looked up as it is: nothing has
 * been executed since, so the registers are those that its own rule expects.
 *
 * Each frame must lie above the one it called, so no content of memory makes a walk run in circles,
 * save by signal frames: those may lead to another stack, and are bounded by the number of frames.
 */
#pragma once

#include "bpf/stack/syscall.bpf.h"
#include "bpf/stack/tables.bpf.h"
#include "bpf/stack/unwind_registers.bpf.h"

/* The rule of code that keeps a frame pointer, and of which nothing else is known. */
static __always_inline void take_frame_pointer_rule(struct walk* walk) {
  struct profd_unwind_rule* rule = &walk->rule;
  rule->cfa = PROFD_CFA_REGISTER;
  rule->cfa_register = REGISTER_RBP;
  rule->flags = 0;
  rule->offset = 16;
  rule->saved[PROFD_SAVED_RBP] = -2;
  for (int i = PROFD_SAVED_RBX; i < PROFD_SAVED_MAX; i++) rule->saved[i] = PROFD_LOST;
  rule->return_address = -1;
}

/* Could rbp be a frame pointer? 0, and the walk is flagged, if not. */
static __always_inline int has_frame_pointer(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  u64 frame_pointer;
  if (!read_register(context, REGISTER_RBP, &frame_pointer, reader)) return 0;
  if (frame_pointer >= walk->registers.value[REGISTER_RSP] && !(frame_pointer & 7)) return 1;
  walk->flags |= PROFD_STACK_NO_FRAME_POINTER;
  return 0;
}

static __always_inline int go_on_by_frame_pointer(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  if (!has_frame_pointer(context, reader)) return 0;
  take_frame_pointer_rule(walk);
  if (walk->uncertain_from == PROFD_ALL_CERTAIN) walk->uncertain_from = walk->frames;
  walk->flags |= PROFD_STACK_UNCERTAIN;
  return 1;
}

/*
 * The last frame lies in no code. Where a frame pointer has led there it was none, and that is no
 * frame.
 */
static __always_inline void end_outside_code(struct walk* walk) {
  if (walk->frames <= walk->uncertain_from) {
    walk->flags |= PROFD_STACK_NO_MAPPING;
    return;
  }
  walk->frames--;
  walk->flags |= PROFD_STACK_NO_FRAME_POINTER;
  if (walk->frames > walk->uncertain_from) return;
  walk->uncertain_from = PROFD_ALL_CERTAIN;
  walk->flags &= ~PROFD_STACK_UNCERTAIN;
}

/*
 * Do the eight bytes before a return address end with a call? That is `e8` with four bytes, or `ff`
 * with a second byte whose middle bits are 2, and as many bytes as the operand takes: none of a
 * register, and 1 or 4 of a distance, 1 more of an index.
 */
static __always_inline int ends_with_call(u64 code) {
#define CODE_BYTE(from_end) ((u8)(code >> (64 - 8 * (from_end))))
#define IS_CALL(from_end) (CODE_BYTE(from_end) == 0xff && (CODE_BYTE((from_end)-1) & 0x38) == 0x10)
#define MOD(from_end) (CODE_BYTE((from_end)-1) >> 6)
#define HAS_INDEX(from_end) ((CODE_BYTE((from_end)-1) & 7) == 4)
#define IS_WIDE(byte) (((byte)&7) == 5) /* with mod 0: four bytes of distance */
  if (CODE_BYTE(5) == 0xe8) return 1;
  if (IS_CALL(2) && (MOD(2) == 3 || (MOD(2) == 0 && !HAS_INDEX(2) && !IS_WIDE(CODE_BYTE(1)))))
    return 1;
  if (IS_CALL(3) &&
      ((MOD(3) == 1 && !HAS_INDEX(3)) || (MOD(3) == 0 && HAS_INDEX(3) && !IS_WIDE(CODE_BYTE(1)))))
    return 1;
  if (IS_CALL(4) && MOD(4) == 1 && HAS_INDEX(4)) return 1;
  if (IS_CALL(6) && ((MOD(6) == 2 && !HAS_INDEX(6)) || (MOD(6) == 0 && IS_WIDE(CODE_BYTE(5)))))
    return 1;
  return IS_CALL(7) && HAS_INDEX(7) && (MOD(7) == 2 || (MOD(7) == 0 && IS_WIDE(CODE_BYTE(5))));
#undef CODE_BYTE
#undef IS_CALL
#undef MOD
#undef HAS_INDEX
#undef IS_WIDE
}

/* Is this the return address of some call? */
static __noinline int follows_current_call(u64 address) {
  u64 code;
  return !bpf_probe_read_user(&code, sizeof(code), (void*)(address - sizeof(code))) &&
         ends_with_call(code);
}

static __noinline int follows_task_call(struct walk_context* context, u64 address) {
  u64 code;
  return read_memory(context, &code, sizeof(code), address - sizeof(code), READ_TASK) &&
         ends_with_call(code);
}

static __always_inline int follows_call(struct walk_context* context, u64 address, int reader) {
  return reader == READ_TASK ? follows_task_call(context, address) : follows_current_call(address);
}

/* Makes sure that walk->rule leads on from the current frame; 0: the walk ends here. */
static __always_inline int choose_rule(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  enum rule_search search = RULE_NONE;
  if (walk->refused) return go_on_by_frame_pointer(context, reader);
  if (has_mapping_tree() && control.tick)
    search = find_rule(walk, walk->pc - !walk->exact, context->event->event.pid);
  if (search == RULE_FOUND) return 1;
  if (search == RULE_NONE) return go_on_by_frame_pointer(context, reader);
  if (search == RULE_NOT_READY)
    walk->flags |= PROFD_STACK_TABLES_NOT_READY;
  else
    end_outside_code(walk);
  return 0;
}

/* The canonical frame address by walk->rule; 0: it cannot be had. */
static __always_inline u64 find_cfa(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  const struct profd_unwind_rule* rule = &walk->rule;
  u64 stack_pointer = walk->registers.value[REGISTER_RSP];
  u64 cfa = 0;
  if (rule->cfa == PROFD_CFA_PLT) {
    cfa = stack_pointer + 8 + ((walk->pc & 15) >= (u64)(s64)rule->add ? 8 : 0);
  } else {
    if (!read_register(context, rule->cfa_register, &cfa, reader)) return 0;
    cfa += (s64)rule->offset;
    if (rule->cfa == PROFD_CFA_DEREF) {
      if (!read_user(context, &cfa, sizeof(cfa), cfa, reader)) return 0;
      cfa += (s64)rule->add;
    }
  }
  /* Only where nothing has been called may a frame be empty. */
  if (cfa > stack_pointer || (walk->exact && cfa == stack_pointer)) return cfa;
  walk->flags |= PROFD_STACK_NO_PROGRESS;
  return 0;
}

/* The return address of the current frame; 0: there is none. */
static __always_inline u64 find_return_address(struct walk_context* context, u64 cfa, int reader) {
  struct walk* walk = context->walk;
  s64 place = walk->rule.return_address;
  u64 address = 0;
  int found;
  if (walk->rule.flags & PROFD_RULE_RETURN_IN_REGISTER)
    found = read_register(context, place, &address, reader);
  else
    found = read_user(context, &address, sizeof(address), cfa + (u64)place * sizeof(u64), reader);
  if (found && !address) walk->flags |= PROFD_STACK_COMPLETE;
  return address;
}

static __always_inline void keep_cfa(struct walk* walk) {
  u32 index = walk->cfas;
  u64 cfa = walk->cfa;
  if (!walk->keep_cfa || index >= PROFD_MAX_USER_FRAMES || cfa >> PROFD_CFA_INDEX_SHIFT) return;
  walk->kept_cfas[index] = ((u64)(walk->frames - 1) << PROFD_CFA_INDEX_SHIFT) | cfa;
  walk->cfas = index + 1;
}

/* The registers of the caller, by walk->rule and walk->cfa; 0: they cannot be had. */
static __always_inline int take_caller(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  u64 base = walk->cfa;
  if ((walk->rule.flags & PROFD_RULE_SAVED_BY_RBP) &&
      !read_register(context, REGISTER_RBP, &base, reader))
    return 0;
  leave_frame(&walk->registers, &walk->rule, walk->cfa, base);
  return 1;
}

static __noinline int take_caller_of_current(struct walk_context* context) {
  return take_caller(context, READ_CURRENT);
}

static __noinline int take_caller_of_task(struct walk_context* context) {
  return take_caller(context, READ_TASK);
}

/*
 * From the current frame to its caller; 0: the walk ends here. A rule that was made from code and
 * leads elsewhere than behind a call is refused: the frame is not left. Functions of its own, and
 * the CFA in the map: kernel 6.1 leaves no more room on the stack.
 */
static __always_inline int leave_by_rule(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  u64 return_address;
  walk->cfa = find_cfa(context, reader);
  if (!walk->cfa) return 0;
  return_address = find_return_address(context, walk->cfa, reader);
  if ((walk->rule.flags & PROFD_RULE_FROM_CODE) && return_address &&
      !follows_call(context, return_address, reader)) {
    walk->refused = 1;
    return 1;
  }
  walk->refused = 0;
  keep_cfa(walk);
  if (!return_address) return 0;
  walk->pc = return_address;
  walk->exact = 0;
  return reader == READ_TASK ? take_caller_of_task(context) : take_caller_of_current(context);
}

/* Says that the last frame's address is no return address. */
static __always_inline void mark_exact(struct walk_context* context) {
  u32 index = context->walk->first + context->walk->frames - 1;
  if (index < PROFD_MAX_FRAMES) context->event->frames[index] |= PROFD_FRAME_EXACT;
}

/* From the frame of a signal's return to what the signal interrupted; 0: the walk ends here. */
static __always_inline int leave_signal(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  u64 ucontext = walk->registers.value[REGISTER_RSP] + (s64)walk->rule.offset;
  if (!read_user(context, walk->signal_registers, sizeof(walk->signal_registers),
                 ucontext + UCONTEXT_REGISTERS, reader))
    return 0;
  take_signal_registers(walk);
  mark_exact(context);
  return 1;
}

/* Keeps walk->pc as the next user frame; 0 when there is no room. */
static __always_inline int keep_frame(struct walk_context* context) {
  struct walk* walk = context->walk;
  u32 frames = walk->frames;
  u32 index = walk->first + frames;
  if (frames >= PROFD_MAX_USER_FRAMES || index >= PROFD_MAX_FRAMES) {
    walk->flags |= PROFD_STACK_USER_TRUNCATED;
    return 0;
  }
  context->event->frames[index] = walk->pc;
  walk->frames = frames + 1;
  return 1;
}

/* One frame up; 1 when the walk is over. */
static __always_inline long walk_frame(struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  if (!choose_rule(context, reader)) return 1;
  if (walk->rule.cfa == PROFD_CFA_END) {
    walk->flags |= PROFD_STACK_COMPLETE;
    return 1;
  }
  if (walk->rule.cfa == PROFD_CFA_SIGNAL) {
    if (!leave_signal(context, reader) || !keep_frame(context)) return 1;
    mark_exact(context);
    return 0;
  }
  if (!leave_by_rule(context, reader)) return 1;
  return !walk->refused && !keep_frame(context);
}

static long walk_current_frame(u32 index, struct walk_context* context) {
  (void)index; /* the walk counts for itself: the verifier looks at one turn, not at all */
  return walk_frame(context, READ_CURRENT);
}

static long walk_task_frame(u32 index, struct walk_context* context) {
  (void)index;
  return walk_frame(context, READ_TASK);
}

/*
 * A walk that ends because tables are missing knows one missing chunk, though each of its callers
 * may lie in another: of large files only requested chunks are loaded. So the chunks of the words
 * above are requested, too, as far up as this.
 */
#define WORDS_AHEAD 256

static __always_inline long look_ahead(u32 index, struct walk_context* context, int reader) {
  struct walk* walk = context->walk;
  u64 place = walk->registers.value[REGISTER_RSP] + (u64)index * sizeof(u64), word;
  u32 flags = walk->flags;
  int found = read_user(context, &word, sizeof(word), place, reader);
  walk->flags = flags; /* the stack may end here */
  if (!found) return 1;
  ask_ahead(walk, word, context->event->event.pid);
  return 0;
}

static long look_ahead_current(u32 index, struct walk_context* context) {
  return look_ahead(index, context, READ_CURRENT);
}

static long look_ahead_task(u32 index, struct walk_context* context) {
  return look_ahead(index, context, READ_TASK);
}

static __always_inline void count_walk(u32 flags) {
  count(PROFD_COUNTER_USER_STACKS);
  if (flags & PROFD_STACK_COMPLETE)
    count(PROFD_COUNTER_USER_STACK_COMPLETE);
  else if (flags & PROFD_STACK_TABLES_NOT_READY)
    count(PROFD_COUNTER_USER_STACK_NOT_READY);
  else if (flags & PROFD_STACK_USER_TRUNCATED)
    count(PROFD_COUNTER_USER_STACK_TRUNCATED);
  else if (flags & PROFD_STACK_USER_FAULT)
    count(PROFD_COUNTER_USER_STACK_FAULT);
  else
    count(PROFD_COUNTER_USER_STACK_BROKEN);
  if (flags & PROFD_STACK_UNCERTAIN) count(PROFD_COUNTER_USER_STACK_UNCERTAIN);
}

/* Writes the result of the walk into the event. */
static __always_inline void end_walk(struct walk_context* context) {
  struct profd_sample_event* event = context->event;
  struct walk* walk = context->walk;
  u64 frames, cfas;
  if (!(walk->flags & PROFD_STACK_COMPLETE) && has_mapping_tree()) {
    event->missing_stack_bytes =
        stack_above((struct mm_struct*)walk->mm, walk->registers.value[REGISTER_RSP], &walk->node);
  }
  /* Computed here, and not earlier: the verifier of 6.1 forgets bounds of what lies on the stack.
   */
  frames = walk->first + walk->frames;
  cfas = walk->cfas;
  forget(frames);
  forget(cfas);
  if (frames <= PROFD_MAX_FRAMES && cfas <= PROFD_MAX_USER_FRAMES &&
      !bpf_probe_read_kernel(&event->frames[frames], cfas * sizeof(u64), walk->kept_cfas))
    event->cfas = cfas;
  event->user_frames = walk->frames;
  event->uncertain_from = walk->uncertain_from;
  event->stack_flags |= walk->flags;
  count_walk(walk->flags);
}

static __always_inline void begin_walk(struct walk* walk, struct task_struct* task, u32 first) {
  walk->mm = (u64)task->mm;
  walk->registers.known = ALL_REGISTERS;
  walk->registers.saved = 0;
  walk->exact = 1;
  walk->frames = 0;
  walk->first = first;
  walk->cfas = 0;
  walk->flags = 0;
  walk->uncertain_from = PROFD_ALL_CERTAIN;
  walk->current = 0;
  walk->keep_cfa = 0;
  walk->requested = 0;
  walk->refused = 0;
  walk->python.stack_pointer = walk->registers.value[REGISTER_RSP];
  for (int i = 0; i < KNOWN_MAPPINGS; i++) walk->mappings[i].begin = walk->mappings[i].end = 0;
}

#define CLONE3_ARGUMENTS_STACK 40 /* of struct clone_args, linux/sched.h */

/*
 * A thread that has just been made, on a stack of its own: it returns from the syscall that made
 * it, and has no caller.
 */
static __always_inline int is_newborn(struct walk_context* context, int reader) {
  const u64* registers = context->walk->registers.value;
  s64 syscall = context->event->syscall;
  u64 stack = 0;
  if (registers[REGISTER_RAX]) return 0; /* in a syscall: -ENOSYS */
  if (syscall == NR_CLONE) return registers[REGISTER_RSI] != 0;
  return syscall == NR_CLONE3 &&
         read_memory(context, &stack, sizeof(stack),
                     registers[REGISTER_RDI] + CLONE3_ARGUMENTS_STACK, reader) &&
         stack;
}

static __always_inline void walk_callers(struct walk_context* context, int reader) {
  if (is_newborn(context, reader))
    context->walk->flags |= PROFD_STACK_COMPLETE;
  else if (reader == READ_TASK)
    bpf_loop(PROFD_MAX_USER_FRAMES, walk_task_frame, context, 0);
  else
    bpf_loop(PROFD_MAX_USER_FRAMES, walk_current_frame, context, 0);
}

/*
 * Appends the user stack after the kernel frames of `event`, from walk->registers.value and
 * walk->pc. Of 32-bit code only the program counter is kept.
 */
static __always_inline void walk_user_stack(struct profd_sample_event* event, struct walk* walk,
                                            struct task_struct* task, int is_64_bit, int reader) {
  struct walk_context context = {.event = event, .walk = walk, .task = task};
  begin_walk(walk, task, event->kernel_frames);
  if (!is_64_bit) walk->flags = PROFD_STACK_32_BIT;
  if (keep_frame(&context) && is_64_bit) walk_callers(&context, reader);
  if (walk->requested) {
    if (reader == READ_TASK)
      bpf_loop(WORDS_AHEAD, look_ahead_task, &context, 0);
    else
      bpf_loop(WORDS_AHEAD, look_ahead_current, &context, 0);
  }
  end_walk(&context);
}
