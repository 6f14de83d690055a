/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Python stacks, independent of native ones: from the thread pointer to the thread state, which
 * must say that it is this thread's, and along its frames. Two reads a frame where code objects
 * have versions, else up to nine; one where the walk has met the code before. User space finds the
 * meaning of the words: the validators say whether a code object is still the one that was seen.
 * One walk follows the frames of every runtime of the process in which the thread has a state.
 */
#pragma once

#include "bpf/stack/python_state.bpf.h"

/* No call of the eval function takes more of the C stack. */
#define PYTHON_EVAL_BYTES 4096
/* No thread state is longer where it has to be known (3.10). */
#define PYTHON_STATE_BYTES 512

static __always_inline void keep_python_word(struct walk_context* context, u64 word) {
  struct python_walk* python = &context->walk->python;
  u32 index = python->first + python->words;
  if (index >= MAX_TAIL_WORDS) return;
  context->event->frames[index] = word;
  python->words++;
}

/* 0, and the walk is flagged, when there is no room for a frame and its anchor. */
static __always_inline int has_python_room(struct python_walk* python) {
  if (python->frames < PROFD_MAX_PYTHON_FRAMES && python->words + 3 <= PROFD_MAX_PYTHON_WORDS)
    return 1;
  python->flags |= PROFD_PYTHON_TRUNCATED;
  return 0;
}

/* A word, an int, a byte of the current frame. */
static __always_inline u64 frame_word(const struct python_walk* python, u32 offset) {
  return python->frame_words[(offset / sizeof(u64)) % PYTHON_FRAME_WORDS];
}
static __always_inline u32 frame_int(const struct python_walk* python, u32 offset) {
  return frame_word(python, offset) >> (offset % sizeof(u64) * 8);
}
static __always_inline u8 frame_byte(const struct python_walk* python, u32 offset) {
  return frame_word(python, offset) >> (offset % sizeof(u64) * 8);
}

/* Of the first words of the copy. A global function: the verifier checks it once. */
__noinline u64 fold_words(const struct python_words* words, u32 count, u64 sum) {
  if (!words) return sum;
  for (u32 i = 0; i < PROFD_PYTHON_CODE_WORDS && i < count; i++)
    sum = profd_python_fold(sum, words->word[i]);
  return sum;
}

/* Of at most PROFD_PYTHON_TEXT_WORDS words. Takes the words of the code object's copy. */
static __always_inline int fold_bytes(struct walk_context* context, u64 address, u64 bytes,
                                      u64* sum, int reader) {
  u64* words = context->walk->python.code_words.word;
  for (u32 i = 0; i < PROFD_PYTHON_TEXT_WORDS; i++) words[i] = 0;
  forget(bytes); /* so that the bound stands here, where the verifier needs it */
  if (bytes > PROFD_PYTHON_TEXT_WORDS * sizeof(u64)) return 0;
  if (bytes && !read_python(context, words, bytes, address, reader)) return 0;
  *sum = fold_words(&context->walk->python.code_words, PROFD_PYTHON_TEXT_WORDS, *sum);
  return 1;
}

/* Of the str at `text`. */
static __always_inline int fold_text(struct walk_context* context, u64 text, u64* sum, int reader) {
  u64* words = context->walk->python.code_words.word;
  u64 bytes;
  u32 state, kept;
  if (!read_python(context, words, PROFD_PYTHON_TEXT_HEAD_WORDS * sizeof(u64),
                   text + PROFD_PYTHON_TEXT_HEAD, reader))
    return 0;
  state = words[2];
  bytes = words[0] * PROFD_PYTHON_TEXT_KIND(state);
  kept = PROFD_PYTHON_TEXT_WORDS * sizeof(u64);
  if (bytes < kept) kept = bytes;
  text += PROFD_PYTHON_TEXT_BEGIN(state) + bytes - kept;
  *sum = profd_python_fold(*sum, bytes << 3 | PROFD_PYTHON_TEXT_KIND(state));
  return fold_bytes(context, text, kept, sum, reader);
}

/* Of the line table, the bytes object at `lines`. */
static __always_inline int fold_lines(struct walk_context* context, u64 lines, u64* sum,
                                      int reader) {
  u64 bytes = 0, kept = PROFD_PYTHON_TEXT_WORDS * sizeof(u64);
  if (!read_python(context, &bytes, sizeof(bytes), lines + PROFD_PYTHON_BYTES_LENGTH, reader))
    return 0;
  if (bytes < kept) kept = bytes;
  *sum = profd_python_fold(*sum, bytes);
  return fold_bytes(context, lines + PROFD_PYTHON_BYTES_BEGIN, kept, sum, reader);
}

/* Where a field of a code object leads, whose constant words have been read. 0: it has none. */
static __always_inline int read_code_field(struct walk_context* context, u64 code, u32 field,
                                           u64* value, int reader) {
  const struct python_walk* python = &context->walk->python;
  u32 word = (field - python->process.code_constant) / sizeof(u64);
  if (!field) return 1;
  if (field < python->process.code_constant || word >= python->process.code_words)
    return read_python(context, value, sizeof(*value), code + field, reader);
  *value = python->code_words.word[word % PROFD_PYTHON_CODE_WORDS];
  return 1;
}

/* Of a code object that has no version: of what never changes in it, and of its names. */
static __always_inline int fold_code(struct walk_context* context, u64 code, int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process = &python->process;
  u32 words = process->code_words;
  u64 sum = 0, name = 0, hash = 0, file = 0, qualname = 0, lines = 0;
  if (words > PROFD_PYTHON_CODE_WORDS) words = PROFD_PYTHON_CODE_WORDS;
  if (!read_python(context, python->code_words.word, words * sizeof(u64),
                   code + process->code_constant, reader) ||
      !read_code_field(context, code, process->code_name, &name, reader) ||
      !read_code_field(context, code, process->code_file, &file, reader) ||
      !read_code_field(context, code, process->code_qualname, &qualname, reader) ||
      !read_code_field(context, code, process->code_lines, &lines, reader) ||
      !read_python(context, &hash, sizeof(hash), name + process->string_hash, reader))
    return 0;
  sum = fold_words(&python->code_words, words, sum);
  sum = profd_python_fold(sum, hash);
  if (process->code_file && !fold_text(context, file, &sum, reader)) return 0;
  if (process->code_qualname && !fold_text(context, qualname, &sum, reader)) return 0;
  if (process->code_lines && !fold_lines(context, lines, &sum, reader)) return 0;
  python->validator = profd_python_folded(sum);
  return 1;
}

/* Into python->validator, as the verifier follows what lies on the stack path by path. */
static __always_inline int validate_code(struct walk_context* context, u64 code, int reader) {
  struct python_walk* python = &context->walk->python;
  u32 offset = python->process.code_version;
  if (offset) {
    if (!read_python(context, &python->validator, sizeof(u32), code + offset, reader)) return 0;
    if (python->validator) return 1;
  }
  return fold_code(context, code, reader);
}

static __noinline int validate_current_code(struct walk_context* context, u64 code) {
  return validate_code(context, code, READ_CURRENT);
}

static __noinline int validate_task_code(struct walk_context* context, u64 code) {
  return validate_code(context, code, READ_TASK);
}

/* User space has to read a code object before it is freed, so it is woken for new ones. */
static __always_inline void note_code(struct walk_context* context, u64 code, u32 validator) {
  u64 sum = profd_python_fold(profd_python_fold(validator, code), context->event->event.pid);
  u32* seen = &words.seen_codes[(sum >> 32) & (PYTHON_SEEN_CODES - 1)];
  u32 mark = (u32)sum | 1;
  if (*seen == mark) return;
  *seen = mark;
  context->walk->python.unseen = 1;
}

/* Recursion has the same ones over and over: each is validated once a walk. */
static __always_inline int find_code(struct walk_context* context, u64 code, u32* validator,
                                     int reader) {
  u64 place = (code >> 4) ^ (code >> 9);
  struct python_code* known = &context->walk->python.codes[place % PYTHON_CODES];
  if (known->address != code) {
    int valid = reader == READ_TASK ? validate_task_code(context, code)
                                    : validate_current_code(context, code);
    if (!valid) return 0;
    note_code(context, code, context->walk->python.validator);
    known->address = code;
    known->validator = context->walk->python.validator;
  }
  *validator = known->validator;
  return 1;
}

static __always_inline void keep_python_frame(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process = &python->process;
  u64 code = frame_word(python, process->frame_code) & ~(u64)process->code_mask;
  u32 validator = 0, instruction;
  if (process->chain <= PROFD_PYTHON_OBJECTS_AND_CFRAMES)
    instruction = frame_int(python, process->frame_instruction);
  else
    instruction =
        frame_word(python, process->frame_instruction) - code - process->code_instructions;
  if (!find_code(context, code, &validator, reader))
    python->unseen = 1; /* soon it may be read from user space */
  keep_python_word(context, code & ~PROFD_PYTHON_ANCHOR);
  keep_python_word(context, (u64)validator << 32 | instruction);
  python->frames++;
}

/* Whether frames are found by CFrames alone (3.11, 3.12). */
static __always_inline int has_cframes_only(const struct python_walk* python) {
  return python->process.chain == PROFD_PYTHON_ENTRY_FLAGS ||
         python->process.chain == PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME;
}

/* The innermost CFrame, and the one of the calling eval. */
static __always_inline int take_cframe(struct walk_context* context, u64 cframe, int reader) {
  struct python_walk* python = &context->walk->python;
  python->cframe = python->inner = cframe;
  return cframe && read_python(context, &python->outer, sizeof(python->outer),
                               cframe + python->process.cframe_previous, reader);
}

/* 3.10, whose frame objects and CFrames are two chains. */
static __always_inline int restart_objects(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  u64 previous = python->first_frame + python->process.frame_previous;
  int frame_is_left_over = !python->cframe;
  python->cframe = frame_is_left_over ? python->inner : python->outer;
  python->frame = python->first_frame;
  return !frame_is_left_over ||
         read_python(context, &python->frame, sizeof(python->frame), previous, reader);
}

static __always_inline int can_restart(const struct python_walk* python) {
  if (python->restarted) return 0;
  if (has_cframes_only(python)) return python->outer != 0;
  return python->process.chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES &&
         (python->outer || !python->cframe);
}

/*
 * An eval call links its CFrame to the thread state before it fills it: for some instructions the
 * innermost CFrame says nothing yet. Then the walk begins again at the one of the calling eval.
 * At its end it takes the CFrame away before the frame object (3.10): then the walk, which found
 * one CFrame too few, begins again at the calling frame.
 */
static __always_inline int restart_python(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  u64 outer = python->outer;
  if (!can_restart(python)) return 0;
  python->restarted = 1;
  python->flags &= ~PROFD_PYTHON_FAULT | python->first_flags;
  python->words = python->first_word;
  python->frames = python->first_kept;
  python->anchors = 0;
  python->tortoise = 0;
  if (!has_cframes_only(python)) return restart_objects(context, reader);
  return take_cframe(context, outer, reader) &&
         read_python(context, &python->frame, sizeof(python->frame),
                     outer + python->process.cframe_current, reader);
}

/* Whether the oldest frame of the innermost eval call leads where the calling eval's CFrame does.
 */
static __always_inline int is_linked(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  u64 frame = 0;
  if (python->anchors || !has_cframes_only(python)) return 1;
  return python->outer &&
         read_python(context, &frame, sizeof(frame), python->outer + python->process.cframe_current,
                     reader) &&
         frame == frame_word(python, python->process.frame_previous);
}

/* Keeps where an eval call ends. */
static __always_inline void keep_anchor(struct walk_context* context, u64 anchor) {
  keep_python_word(context, (anchor & ~PROFD_PYTHON_RUNTIME) | PROFD_PYTHON_ANCHOR);
  context->walk->python.anchors++;
}

/* The outermost CFrame is a part of the thread state; 3.10 leaves its `previous` to chance. */
static __always_inline int is_root_cframe(const struct python_walk* python) {
  return python->cframe - python->state < PYTHON_STATE_BYTES;
}

/* The present CFrame is the anchor; on to the one of the calling eval. */
static __always_inline void pass_cframe(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  if (!python->cframe) return;
  if (python->process.chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES && is_root_cframe(python)) {
    python->cframe = 0;
    return;
  }
  keep_anchor(context, python->cframe);
  if (!read_python(context, &python->cframe, sizeof(python->cframe),
                   python->cframe + python->process.cframe_previous, reader))
    python->cframe = 0;
}

/* Whether the chain ended where it should: with 3.10 each frame object has its CFrame and one is
 * left; where CFrames lead to frames, each eval call ends somewhere, and only the outermost CFrame
 * has none. */
static __always_inline int has_passed_all(const struct python_walk* python) {
  if (python->process.chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES) return is_root_cframe(python);
  return !has_cframes_only(python) || python->anchors || is_root_cframe(python);
}

/*
 * What was walked is not this thread's stack, and where that is cannot be known at this instant: an
 * eval call was beginning. 1: the walk is over.
 */
static __always_inline long give_up_torn(struct python_walk* python) {
  python->flags |= PROFD_PYTHON_TORN;
  python->words = python->frames = 0;
  return 1;
}

/* No more frames; 1 when that is the end of the walk. */
static __always_inline long end_python_frames(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  int has_cframes =
      python->process.chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES || has_cframes_only(python);
  /* No frames at all are no answer where those of the innermost call could not be read. */
  if (!python->frame && has_passed_all(python))
    return python->restarted && python->frames == python->first_kept ? give_up_torn(python) : 1;
  if (restart_python(context, reader)) return 0;
  return has_cframes && (!python->frame || !python->anchors) ? give_up_torn(python) : 1;
}

/* On to the next frame; 0: the frames are a circle. */
static __always_inline int pass_frame(struct python_walk* python) {
  u32 step = python->steps++;
  python->frame = frame_word(python, python->process.frame_previous);
  if (python->frame && python->frame == python->tortoise) {
    python->flags |= PROFD_PYTHON_FAULT;
    return 0;
  }
  if (!(step & (step - 1))) python->tortoise = python->frame;
  return 1;
}

/*
 * Whether the frame is the interpreter's own, which ends an eval call. One lies on the C stack, so
 * it is known even while the call begins, links it and has not yet written what it is.
 */
static __always_inline int is_entry_frame(const struct python_walk* python, u8 owner) {
  return owner >= PROFD_PYTHON_OWNED_BY_INTERPRETER ||
         python->frame - python->stack_pointer < PYTHON_EVAL_BYTES;
}

/* One frame up; 1: there are no more. */
static __always_inline long walk_python_frame(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process = &python->process;
  u32 bytes = process->frame_bytes;
  u8 owner;
  int ends_call;
  if (!python->frame) return end_python_frames(context, reader);
  if (!has_python_room(python)) return 1;
  if (bytes > PROFD_PYTHON_FRAME_BYTES) bytes = PROFD_PYTHON_FRAME_BYTES;
  if (!read_python(context, python->frame_words, bytes, python->frame, reader))
    return end_python_frames(context, reader);
  owner = frame_byte(python, process->frame_owner);
  ends_call = process->chain >= PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME
                  ? is_entry_frame(python, owner)
                  : process->chain == PROFD_PYTHON_ENTRY_FLAGS && owner;
  if (ends_call && !is_linked(context, reader))
    return restart_python(context, reader) ? 0 : give_up_torn(python);
  if (ends_call && process->chain >= PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME) {
    keep_anchor(context, python->frame);
  } else {
    keep_python_frame(context, reader);
    if (ends_call || process->chain == PROFD_PYTHON_OBJECTS_AND_CFRAMES)
      pass_cframe(context, reader);
  }
  return pass_frame(python) ? 0 : end_python_frames(context, reader);
}

/* Where the innermost frame is, and the CFrame of its eval call. 0: nowhere. */
static __always_inline int find_first_frame(struct walk_context* context, u64 state, int reader) {
  struct python_walk* python = &context->walk->python;
  const struct profd_python_process* process = &python->process;
  u64 current = 0;
  if (!read_python(context, &current, sizeof(current), state + process->current, reader)) return 0;
  switch (process->chain) {
    case PROFD_PYTHON_OBJECTS_AND_CFRAMES:
      if (!take_cframe(context, current, reader) ||
          !read_python(context, &python->frame, sizeof(python->frame), state + process->first_frame,
                       reader))
        return 0;
      python->first_frame = python->frame;
      return 1;
    case PROFD_PYTHON_ENTRY_FLAGS:
    case PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME:
      return take_cframe(context, current, reader) &&
             read_python(context, &python->frame, sizeof(python->frame),
                         current + process->cframe_current, reader);
    default:
      python->frame = current;
      return 1;
  }
}

/* Before the frames of the current runtime. 0: there are none, or the walk is flagged. */
static __always_inline int begin_frames(struct walk_context* context, u64 state, int reader) {
  struct python_walk* python = &context->walk->python;
  python->frame = python->cframe = python->outer = python->first_frame = python->tortoise = 0;
  python->anchors = python->restarted = python->steps = 0;
  python->first_word = python->words;
  python->first_kept = python->frames;
  python->first_flags = python->flags;
  return find_first_frame(context, state, reader);
}

/* On to the next runtime; 1 when the walk is over. */
static __always_inline long end_runtime(struct walk_context* context, int reader) {
  struct python_walk* python = &context->walk->python;
  u64 state;
  python->over = 1;
  if ((python->flags & PROFD_PYTHON_TORN) || !has_next_runtime(python)) return 1;
  state = begin_next_runtime(context, reader);
  if (!state) return 0;
  if (python->words >= PROFD_MAX_PYTHON_WORDS) return give_up_torn(python);
  keep_python_word(context, PROFD_PYTHON_ANCHOR | PROFD_PYTHON_RUNTIME | python->key.runtime);
  python->over = !begin_frames(context, state, reader);
  return 0;
}

static __always_inline long step_python(struct walk_context* context, int reader) {
  if (!context->walk->python.over && !walk_python_frame(context, reader)) return 0;
  return end_runtime(context, reader);
}

static long step_current_python(u32 index, struct walk_context* context) {
  (void)index;
  return step_python(context, READ_CURRENT);
}

static long step_task_python(u32 index, struct walk_context* context) {
  (void)index;
  return step_python(context, READ_TASK);
}

/* What is kept of frames, and on to each runtime. */
#define PYTHON_STEPS (PROFD_MAX_PYTHON_WORDS + PROFD_MAX_PYTHON_RUNTIMES)

/* Appends the Python part to a sample that has its native frames. */
static __always_inline void walk_python(struct profd_sample_event* event, struct walk* walk,
                                        struct task_struct* task, int reader) {
  struct walk_context context = {.event = event, .walk = walk, .task = task};
  struct python_walk* python = &walk->python;
  u64 state = begin_python(&context, reader);
  python->words = python->frames = python->unseen = 0;
  python->first = (u32)event->kernel_frames + event->user_frames + event->cfas;
  python->over = !state || !begin_frames(&context, state, reader);
  if (!python->over || has_next_runtime(python)) {
    for (u32 i = 0; i < PYTHON_CODES; i++) python->codes[i] = (struct python_code){};
    if (reader == READ_TASK)
      bpf_loop(PYTHON_STEPS, step_task_python, &context, 0);
    else
      bpf_loop(PYTHON_STEPS, step_current_python, &context, 0);
  }
  event->python_words = python->words;
  event->python_flags = python->flags;
}

/* `walk`: the one that made the stacks of this sample, or 0. */
static __always_inline int wakes_for_code(const struct profd_sample_event* event,
                                          const struct walk* walk) {
  return walk && event->python_words && walk->python.unseen;
}
