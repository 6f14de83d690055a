/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Which mapping a user address lies in, read from the kernel's own tree of them without a lock:
 * bpf_find_vma can be called once per section with interrupts off, and tables made in user space
 * would always be late. The tree (kernel 6.1 and later) is made for lockless readers: a node that
 * is replaced points to itself as its parent and stays readable. What is found is held against the
 * address, before and after its file is read.
 */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/maps.bpf.h"

enum mapping_kind {
  MAPPING_NONE,      /* nothing there that can be executed */
  MAPPING_ANONYMOUS, /* code made at run time */
  MAPPING_FILE,
  MAPPING_VDSO
};

#define NO_FILE 0xffffffff

/* Nodes are 256 bytes, aligned to as much: the low bits of a pointer to one hold its type. */
#define MAPLE_NODE_BYTES (MAPLE_NODE_WORDS * sizeof(u64))
#define MAPLE_NODE_MASK (MAPLE_NODE_BYTES - 1)
#define MAPLE_TYPE_SHIFT 3
#define MAPLE_TYPE_MASK 15
#define MAPLE_ROOT 2 /* low bits of the pointer to the first node */
#define MAPLE_LEAF_64 1
#define MAPLE_ARANGE_64 3
#define MAPLE_PIVOTS 15
/* 65,530 mappings in half-full nodes are 7 levels. */
#define MAPLE_MAX_LEVELS 10
#define PAGE_SHIFT 12
#define FIRST_POINTER 4096

static __always_inline int has_mapping_tree(void) {
  return bpf_core_field_exists(struct mm_struct, mm_mt);
}

/*
 * How many pivots of the node lie below the address: the slot that holds it. Pivots are the last
 * bytes of mappings or gaps, whose order in pages is therefore theirs. A node with fewer pivots
 * goes on with its slots, which as pointers lie above every address. No branch: the verifier would
 * follow each. A global function: it checks this once, not at each level of the tree.
 */
__noinline u64 slot_of(const struct maple_words* node, u64 address) {
  u64 page = address >> PAGE_SHIFT;
  u64 slot = 0, below = 1;
  if (!node) return 0;
#pragma unroll
  for (int i = 0; i < MAPLE_PIVOTS; i++) {
    u64 difference = (node->word[1 + i] >> PAGE_SHIFT) - page;
    forget(difference);
    below &= difference >> 63;
    slot += below;
  }
  return slot;
}

/* Address of the struct vm_area_struct at a user address; 0: none. `node` is scratch. */
static __always_inline struct vm_area_struct* find_vma(struct mm_struct* mm, u64 address,
                                                       struct maple_words* node) {
  u64 entry = (u64)BPF_CORE_READ(mm, mm_mt.ma_root);
  if ((entry & 3) != MAPLE_ROOT) return 0; /* a tree of no node: nothing is mapped */
  for (int level = 0; level < MAPLE_MAX_LEVELS; level++) {
    u64 type = (entry >> MAPLE_TYPE_SHIFT) & MAPLE_TYPE_MASK;
    u64 at = entry & ~(u64)MAPLE_NODE_MASK;
    u64 slot = bpf_core_field_offset(struct maple_range_64, slot) / sizeof(u64);
    if (entry < FIRST_POINTER || type < MAPLE_LEAF_64 || type > MAPLE_ARANGE_64 ||
        bpf_probe_read_kernel(node, MAPLE_NODE_BYTES, (void*)at))
      break;
    if ((node->word[0] & ~(u64)MAPLE_NODE_MASK) == at) break; /* replaced meanwhile */
    if (type == MAPLE_ARANGE_64)
      slot = bpf_core_field_offset(struct maple_arange_64, slot) / sizeof(u64);
    slot += slot_of(node, address);
    forget(slot); /* the mask is for the verifier, and must stay */
    entry = node->word[slot & (MAPLE_NODE_WORDS - 1)];
    if (type == MAPLE_LEAF_64)
      return entry >= FIRST_POINTER && !(entry & 3) ? (struct vm_area_struct*)entry : 0;
  }
  count_in_place(PROFD_COUNTER_MAPPING_FAILED);
  return 0;
}

static __always_inline u64 modified_ns(struct inode* inode) {
  if (bpf_core_field_exists(inode->i_mtime_sec)) {
    return (u64)BPF_CORE_READ(inode, i_mtime_sec) * 1000000000 + BPF_CORE_READ(inode, i_mtime_nsec);
  } else {
    struct inode___hidden* hidden = (void*)inode;
    struct inode___plain* plain = (void*)inode;
    if (bpf_core_field_exists(hidden->__i_mtime)) {
      return (u64)BPF_CORE_READ(hidden, __i_mtime.tv_sec) * 1000000000 +
             BPF_CORE_READ(hidden, __i_mtime.tv_nsec);
    }
    return (u64)BPF_CORE_READ(plain, i_mtime.tv_sec) * 1000000000 +
           BPF_CORE_READ(plain, i_mtime.tv_nsec);
  }
}

static __always_inline void read_file_key(struct file* file, struct profd_file_key* key) {
  struct inode* inode = BPF_CORE_READ(file, f_inode);
  key->inode = BPF_CORE_READ(inode, i_ino);
  key->size = BPF_CORE_READ(inode, i_size);
  key->mtime_ns = modified_ns(inode);
  key->device = BPF_CORE_READ(inode, i_sb, s_dev);
  key->generation = BPF_CORE_READ(inode, i_generation);
}

static __always_inline void no_key(struct profd_file_key* key, u64 inode) {
  key->inode = inode;
  key->size = 0;
  key->mtime_ns = 0;
  key->device = 0;
  key->generation = 0;
}

/* Fills `mapping`, all but `file`, with the executable mapping at an address; `node` is scratch. */
static __always_inline void find_mapping(struct mm_struct* mm, u64 address,
                                         struct maple_words* node, struct mapping* mapping) {
  struct vm_area_struct* vma;
  struct file* file;
  mapping->kind = MAPPING_NONE;
  mapping->begin = mapping->end = 0;
  vma = find_vma(mm, address, node);
  if (!vma || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC)) return;
  mapping->begin = BPF_CORE_READ(vma, vm_start);
  mapping->end = BPF_CORE_READ(vma, vm_end);
  mapping->file_offset = BPF_CORE_READ(vma, vm_pgoff) << PAGE_SHIFT;
  file = BPF_CORE_READ(vma, vm_file);
  if (file) {
    read_file_key(file, &mapping->key);
    mapping->kind = MAPPING_FILE;
  } else if ((u64)BPF_CORE_READ(mm, context.vdso) == mapping->begin) {
    no_key(&mapping->key, PROFD_VDSO_INODE);
    mapping->file_offset = 0;
    mapping->kind = MAPPING_VDSO;
  } else {
    no_key(&mapping->key, mapping->begin);
    mapping->key.size = mapping->end - mapping->begin;
    mapping->key.mtime_ns = (u64)mm * 0x9E3779B97F4A7C15ull; /* the address itself is secret */
    mapping->key.device = PROFD_MEMORY_DEVICE;
    mapping->file_offset = 0;
    mapping->kind = MAPPING_ANONYMOUS;
  }
  if (address >= mapping->begin && address < mapping->end &&
      BPF_CORE_READ(vma, vm_start) == mapping->begin && BPF_CORE_READ(vma, vm_file) == file)
    return;
  count_in_place(PROFD_COUNTER_MAPPING_FAILED);
  mapping->kind = MAPPING_NONE;
  mapping->begin = mapping->end = 0;
}

/* Bytes from an address to the end of the stack it lies in; 0: it lies in nothing. */
static __always_inline u64 stack_above(struct mm_struct* mm, u64 address,
                                       struct maple_words* node) {
  struct vm_area_struct* vma = find_vma(mm, address, node);
  u64 end, start_stack;
  if (!vma) return 0;
  end = BPF_CORE_READ(vma, vm_end);
  start_stack = BPF_CORE_READ(mm, start_stack); /* above it, arguments and environment */
  if (start_stack >= address && start_stack < end) end = start_stack;
  return address < end ? end - address : 0;
}
