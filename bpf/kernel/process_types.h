/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* More of kernel_types.h: what a process maps, whose it is, and its registers in user mode. */
#pragma once

#include "bpf/kernel/kernel_types.h"

#ifdef __bpf__
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

/* When a file was modified; since 6.11 it is in struct inode itself. */
struct timespec64 {
  long long tv_sec;
  long tv_nsec;
};
struct inode___hidden {
  struct timespec64 __i_mtime; /* 6.7 to 6.10 */
};
struct inode___plain {
  struct timespec64 i_mtime; /* until 6.6 */
};

/* Mappings of a process: a tree whose leaves hold vm_area_struct, by address. Since 6.1. */
struct maple_tree {
  void* ma_root;
};
struct maple_range_64 {
  void* parent;
  unsigned long pivot[15];
  void* slot[16];
};
struct maple_arange_64 {
  void* parent;
  unsigned long pivot[9];
  void* slot[10];
};
struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  unsigned long vm_flags;
  unsigned long vm_pgoff;
  struct file* vm_file;
};
struct mm_struct {
  struct maple_tree mm_mt;
  unsigned long start_stack;
  struct {
    void* vdso;
  } context;
};

/* Flags of its memory. */
struct mm_struct___bitmap {
  struct {
    unsigned long __mm_flags[1];
  } flags; /* since 6.18 */
};
struct mm_struct___word {
  unsigned long flags; /* until 6.17 */
};

/* Whose it is. */
struct user_namespace {
  struct user_namespace* parent;
  int level;
  struct {
    unsigned int val;
  } owner;
};
struct cred {
  struct {
    unsigned int val;
  } uid, suid, euid;
  struct {
    __u64 val;
  } cap_permitted;
  struct user_namespace* user_ns;
};
struct cred___words { /* until 6.2 */
  struct {
    __u32 cap[2];
  } cap_permitted;
};

/* A program that is executed. */
struct linux_binprm {
  const char* filename;
};

/* What bpf_task_pt_regs returns. The UAPI struct of the same name calls its fields otherwise. */
struct pt_regs___kernel {
  unsigned long orig_ax;
  unsigned long ip;
  unsigned long sp;
  unsigned long bp;
  unsigned long di;
  unsigned long si;
  unsigned long dx;
  unsigned long ax;
  unsigned long bx;
  unsigned long cx;
  unsigned long r8;
  unsigned long r9;
  unsigned long r10;
  unsigned long r11;
  unsigned long r12;
  unsigned long r13;
  unsigned long r14;
  unsigned long r15;
  unsigned short cs;
};

#ifdef __bpf__
#pragma clang attribute pop
#endif

#define VM_EXEC 0x4
#define MMF_DUMPABLE_MASK 3
#define SUID_DUMP_USER 1
