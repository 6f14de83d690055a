/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwind tables. User space writes them, and the unwinder reads them.
 *
 * All tables lie in one pool: slabs of 256 pages, inner maps of one array of maps, mapped by user
 * space. A `place` counts units of 8 bytes from the pool's beginning; 0 is nowhere. A file's
 * text, in file offsets (not virtual addresses: no load bias is needed), is cut into chunks of
 * 64 KiB; each has a reference in the file's index and is loaded or absent as a whole:
 *
 *   file --index--> profd_chunk_ref[] --place--> profd_chunk | profd_unwind_row[]
 *        --rules--> profd_unwind_rule[]  <------------------------- row.rule
 *
 * A chunk is cut into blocks of 4 KiB. Each block's rows begin with one at the block's start, so
 * a search looks at one block only; a block has PROFD_BLOCK_MAX_ROWS at most, so it lies in two
 * pages at most. What is published never changes but `last_used`; what is to be freed is
 * unpublished first, and its place used again after all programs that may still read it are done.
 */
#pragma once

#include "bpf/shared/events.h" /* PROFD_STATIC_ASSERT */

#define PROFD_PLACE_UNIT 8
#define PROFD_POOL_PAGE_BYTES 4096
#define PROFD_SLAB_PAGES 256
#define PROFD_MAX_SLABS 256 /* of 1 MiB each; user space sets the effective cap */
#define PROFD_MAX_UNWIND_FILES 8192

#define PROFD_CHUNK_SHIFT 16
#define PROFD_BLOCK_SHIFT 12
#define PROFD_CHUNK_BLOCKS 16
#define PROFD_BLOCK_MAX_ROWS 1024

/* A mapped file as the kernel knows it. */
struct profd_file_key {
  __u64 inode;
  __u64 size;
  __u64 mtime_ns;   /* seconds * 1e9 + ns, modulo 2^64 */
  __u32 device;     /* s_dev of the super block: major << 20 | minor */
  __u32 generation; /* i_generation */
};

/* The vdso has no file: this inode, all else 0. */
#define PROFD_VDSO_INODE 1

/*
 * Code made at run time has no file either. A mapping of it has this device; `inode` is where it
 * begins, `size` its length, and `mtime_ns` a number of the address space. Its file offsets count
 * from its begin.
 */
#define PROFD_MEMORY_DEVICE 0xffffffff

/* unwind_files[i].flags */
#define PROFD_FILE_PRESENT 1   /* the entry is in use */
#define PROFD_FILE_NO_TABLES 2 /* looked at: it has none that can be used */
#define PROFD_FILE_KEEP_CFA 4  /* frames in this file keep their CFA in the record */

/* Element of the array map `unwind_files`; the hash map `unwind_file_ids` finds it by file key. */
struct profd_unwind_file {
  __u32 flags;
  __u32 index;       /* place of struct profd_chunk_ref[chunks] */
  __u32 first_chunk; /* file offset >> PROFD_CHUNK_SHIFT of index[0] */
  __u32 chunks;
  /* One 64-bit word to both sides: rules may move when they grow, and none goes away. A row that
   * names a rule beyond rule_count is of a chunk newer than this reading. */
  __u32 rules; /* place of struct profd_unwind_rule[rule_count]; a multiple of 4 */
  __u32 rule_count;
  __u32 last_used; /* control.tick of the last look-up; written by the programs */
  __u32 reserved;
};

/* place of a chunk_ref: nowhere = not loaded, ask for it. */
#define PROFD_CHUNK_EMPTY 1 /* looked at: no rule covers any of it */

struct profd_chunk_ref {
  __u32 place;
  __u32 last_used; /* as in profd_unwind_file */
};

/* 40 bytes, in one page; the rows follow it. */
struct profd_chunk {
  __u16 first_row[PROFD_CHUNK_BLOCKS + 1]; /* of each block; the last is the number of rows */
  __u16 reserved[3];
};

struct profd_unwind_row {
  __u16 offset; /* in the chunk: the first byte the rule holds for, until the next row */
  __u16 rule;   /* index; 0: no rule is known here */
};

/* How the CFA (canonical frame address: rsp before the call) is found. */
enum profd_cfa_kind {
  PROFD_CFA_NONE,     /* rule 0: not known */
  PROFD_CFA_REGISTER, /* register + offset */
  PROFD_CFA_DEREF,    /* *(register + offset) + add */
  PROFD_CFA_PLT,      /* rsp + 8 + ((pc & 15) >= add ? 8 : 0) */
  PROFD_CFA_SIGNAL,   /* all registers are in the struct ucontext at rsp + offset */
  PROFD_CFA_END       /* the outermost frame: it has no return address */
};

/* Registers that are followed up the stack; numbers of rule->saved. */
enum profd_saved_register {
  PROFD_SAVED_RBP,
  PROFD_SAVED_RBX,
  PROFD_SAVED_R12,
  PROFD_SAVED_R13,
  PROFD_SAVED_R14,
  PROFD_SAVED_R15,
  PROFD_SAVED_MAX
};

/* Values of rule->saved[] that are no offsets. */
#define PROFD_SAME (-32768) /* the caller's value is still in the register */
#define PROFD_LOST (-32767) /* it is not known */

/* rule->flags */
#define PROFD_RULE_SAVED_BY_RBP 1       /* saved[] counts from rbp's value, not from the CFA */
#define PROFD_RULE_RETURN_IN_REGISTER 2 /* return_address is the DWARF number of a register */
#define PROFD_RULE_FROM_CODE 4 /* made from machine code: believed where it leads behind a call */

/* 32 bytes: no rule lies across two pages. */
struct profd_unwind_rule {
  __u8 cfa;          /* enum profd_cfa_kind */
  __u8 cfa_register; /* DWARF number of x86-64: 0 rax .. 6 rbp, 7 rsp .. 15 r15 */
  __u8 flags;
  __u8 reserved;
  __s32 offset;                 /* bytes */
  __s32 add;                    /* bytes */
  __s16 saved[PROFD_SAVED_MAX]; /* in units of 8 bytes from the CFA */
  __s16 return_address;         /* in units of 8 bytes from the CFA; nearly always -1 */
  __u8 padding[6];
};

/* Record of the ring `ring_wanted`: tables that a walk missed. */
struct profd_wanted {
  struct profd_file_key key;
  __u64 mapping_begin; /* of the mapping in process `pid`: names /proc/PID/map_files/BEGIN-END */
  __u64 mapping_end;
  __u64 file_offset; /* that was looked up */
  __u32 pid;         /* as all pids in events.h */
  __u32 reserved;
};

PROFD_STATIC_ASSERT(sizeof(struct profd_file_key) == 32, "profd_file_key");
PROFD_STATIC_ASSERT(sizeof(struct profd_unwind_file) == 32, "profd_unwind_file");
PROFD_STATIC_ASSERT(sizeof(struct profd_chunk_ref) == 8, "profd_chunk_ref");
PROFD_STATIC_ASSERT(sizeof(struct profd_chunk) == 40, "profd_chunk");
PROFD_STATIC_ASSERT(sizeof(struct profd_unwind_row) == 4, "profd_unwind_row");
PROFD_STATIC_ASSERT(sizeof(struct profd_unwind_rule) == 32, "profd_unwind_rule");
PROFD_STATIC_ASSERT(sizeof(struct profd_wanted) == 64, "profd_wanted");
