/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The layout that the BPF side needs to walk the Python stacks of a process: where a thread finds
 * its thread state, and the offsets of the fields that lead from there to the frames and their
 * code. User space (daemon/python) makes one for each process with an interpreter; offsets are
 * bytes. Layouts: Include/internal/pycore_frame.h, Include/cpython/code.h and pystate.h of each
 * version; from 3.13 on those of _Py_DebugOffsets in the process itself.
 */
#pragma once

#include <linux/types.h>

/* Processes with an interpreter at a time. */
#define PROFD_MAX_PYTHON_PROCESSES 8192
/* Runtimes of one process, each with its own layout, threads and GIL. */
#define PROFD_MAX_PYTHON_RUNTIMES 4
/* Runtimes at a time that are not their process's first. */
#define PROFD_MAX_MORE_PYTHON_RUNTIMES 1024

/* How a thread's frames are chained. */
enum profd_python_chain {
  /* 3.8, 3.9: frame objects, one C call of the eval function each; no anchors. */
  PROFD_PYTHON_OBJECTS = 1,
  /* 3.10: the same; the thread state leads to the CFrame of the innermost eval call, each CFrame to
   * the next: the i-th CFrame is the anchor of the i-th frame. */
  PROFD_PYTHON_OBJECTS_AND_CFRAMES = 2,
  /* 3.11: frames lead to CFrames where `owner`'s neighbour is_entry is set: the oldest frame of an
   * eval call. */
  PROFD_PYTHON_ENTRY_FLAGS = 3,
  /* 3.12: a frame of the interpreter's own (owner) ends each eval call; found by a CFrame. */
  PROFD_PYTHON_ENTRY_FRAMES_BY_CFRAME = 4,
  /* 3.13 and later: the same, found by the thread state. */
  PROFD_PYTHON_ENTRY_FRAMES = 5,
};

/* From this value of a frame's owner on it is no Python frame (3.12 and later). */
#define PROFD_PYTHON_OWNED_BY_INTERPRETER 3

/* Bytes of a frame that are read at once, at most. */
#define PROFD_PYTHON_FRAME_BYTES 128
/* Words of a code object that go into its validator, at most. */
#define PROFD_PYTHON_CODE_WORDS 16

/*
 * A str of 3.7 to 3.11 (Include/cpython/unicodeobject.h): the head's words from its length on, the
 * last of them the state (two bits interned, three of bytes a character, compact, ascii), and where
 * the characters begin. Its last bytes distinguish it from others of its length: files differ
 * there.
 */
#define PROFD_PYTHON_TEXT_HEAD 16
#define PROFD_PYTHON_TEXT_HEAD_WORDS 3
#define PROFD_PYTHON_TEXT_KIND(state) ((state) >> 2 & 7)
#define PROFD_PYTHON_TEXT_BEGIN(state) ((state) >> 6 & 1 ? 48 : 72)
#define PROFD_PYTHON_TEXT_WORDS 8
/* A bytes object: its length and where its bytes begin (Include/cpython/bytesobject.h). */
#define PROFD_PYTHON_BYTES_LENGTH 16
#define PROFD_PYTHON_BYTES_BEGIN 32

/* Value of the hash maps `python_processes`, the first runtime of each process, whose key is the
 * pid as in events, and `python_runtimes`, the others. */
struct profd_python_process {
  __s64 slot;            /* from the thread pointer to the word that points to the thread state */
  __u64 gil;             /* of all interpreters: struct _gil_runtime_state; 0: not known */
  __u32 chain;           /* enum profd_python_chain */
  __u32 code_mask;       /* bits of a frame's code pointer that are tags, to be cleared */
  __u16 thread_id;       /* in the thread state: the thread pointer of its thread */
  __u16 current;         /* in the thread state: the innermost frame, or CFrame */
  __u16 cframe_current;  /* in a CFrame: the innermost frame; where `current` leads to a CFrame */
  __u16 cframe_previous; /* in a CFrame: the one of the calling eval */
  __u16 first_frame;     /* 3.10: in the thread state, the innermost frame object; else 0 */
  __u16 frame_bytes;     /* to read, from the beginning of a frame; multiple of 8 */
  __u16 frame_previous;
  __u16 frame_code;
  __u16
      frame_instruction; /* frame objects: an int, the index; else the address of the instruction */
  __u16 frame_owner;     /* a byte; 3.11: is_entry, also a byte */
  __u16 code_instructions; /* in a code object: its first instruction; not for frame objects */
  __u16 code_version;      /* in a code object: an int that no other has; 0: there is none */
  __u16 code_constant;     /* in a code object: words that never change ... */
  __u16 code_words;  /* ... this many; the validator is made of them where there is no version */
  __u16 code_name;   /* in a code object: its name, a str */
  __u16 string_hash; /* in a str: its hash, a word */
  /* Not 0: the word at `slot` points to an array, whose word at slot_inner - 1 is the one. */
  __u32 slot_inner;
  /* Not 0: each interpreter has its GIL: in it the address of struct _gil_runtime_state. */
  __u32 interpreter_gil;
  __u16 thread_interpreter; /* in the thread state: its interpreter */
  __u16 gil_locked;         /* in the GIL: an int, 1 while a thread holds it */
  __u16 gil_holder;         /* in the GIL: the thread state that holds it or did last */
  /* In a code object: its file and qualified name, each a str whose text goes into the validator,
   * and its line table, a bytes object; another may have the same memory by now. 0: it does not. */
  __u16 code_file;
  __u16 code_qualname;
  __u16 code_lines;
  __u16 more; /* of the first runtime: so many more are in `python_runtimes` */
  __u16 reserved[3];
  __u32 pid; /* of their keys: also a child's, before it has entries of its own */
};

/* Key of `python_runtimes`. */
struct profd_python_runtime_key {
  __u32 pid;
  __u32 runtime; /* 1 and up */
};

/* Where in struct _gil_runtime_state mutexes and conditions begin: futexes of those who wait. */
#define PROFD_PYTHON_GIL_WAITS 32
#define PROFD_PYTHON_GIL_BYTES 208

/*
 * The Python part of a sample, leaf first. A frame is two words: the address of its code object,
 * and validator << 32 | instruction. The end of what one call of the eval function runs is one
 * word: PROFD_PYTHON_ANCHOR | an address inside that call's C stack frame.
 * The instruction counts bytes from the first one (3.10: of frame objects, index as it is).
 * The validator is the code object's version or, where that is 0 or not known, the fold of its
 * constant words, its name's hash, its texts, each of which counts as its length in bytes, its kind
 * and its last PROFD_PYTHON_TEXT_WORDS words, filled up with zeros, and the line table's length and
 * so many of its first words: profd_python_fold.
 */
#define PROFD_PYTHON_ANCHOR (1ull << 63)
/* With PROFD_PYTHON_ANCHOR: no anchor. What follows is of the runtime in the low bits; what stands
 * before the first such word is of runtime 0. They come in order. */
#define PROFD_PYTHON_RUNTIME (7ull << 60)
/* Instruction of a frame that has executed none. (Validator of code that could not be read: 0.) */
#define PROFD_PYTHON_NO_INSTRUCTION 0xffffffffu

#define PROFD_MAX_PYTHON_FRAMES 512
#define PROFD_MAX_PYTHON_WORDS 1536 /* three a frame, with its anchor */

/* flags of the Python part */
#define PROFD_PYTHON_PROCESS 1   /* the process has an interpreter that is understood */
#define PROFD_PYTHON_THREAD 2    /* and the thread has a thread state */
#define PROFD_PYTHON_TRUNCATED 4 /* more frames than are kept; the leaf side is */
#define PROFD_PYTHON_FAULT 8     /* the walk ended on memory that could not be read */
/* 3.10 to 3.12: the sample came while a call was entered or left: it has no Python frames */
#define PROFD_PYTHON_TORN 128
/* The GIL of its interpreter. While a thread does not run, no other thread changes what it holds.
 */
#define PROFD_PYTHON_GIL_HELD 16  /* it holds it */
#define PROFD_PYTHON_GIL_KNOWN 32 /* it could be read: without HELD it does not hold it */
#define PROFD_PYTHON_GIL_FUTEX 64 /* the first syscall argument is a futex of it */
/* Where in the flags the number of runtimes stands, beyond the first, that were looked at. Of a
 * thread with states in several, HELD and FUTEX are of any of their GILs, KNOWN of all. */
#define PROFD_PYTHON_MORE_SHIFT 8
#define PROFD_PYTHON_MORE ((PROFD_MAX_PYTHON_RUNTIMES - 1) << PROFD_PYTHON_MORE_SHIFT)

/* One step of the validator's fold: multiply and mix, so that the order of words counts. */
static inline __u64 profd_python_fold(__u64 sum, __u64 word) {
  sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
  return sum ^ (sum >> 29);
}
static inline __u32 profd_python_folded(__u64 sum) { return (__u32)(sum ^ (sum >> 32)); }
