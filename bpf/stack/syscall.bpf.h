/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The syscall of a thread: its number, arguments, and what kind of file the first
 * one names. x86-64 only: other machines and 32-bit code report no syscall.
 */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/maps.bpf.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define ANON_INODE_FS_MAGIC 0x09041934

#define USER_CS 0x33 /* code segment of 64-bit user code */
#define NR_SCHED_YIELD 24
#define NR_CLONE 56
#define NR_FUTEX 202
#define NR_CLONE3 435

/* Syscalls that may wait and whose first argument is a file descriptor. */
static __always_inline int takes_fd(s64 number) {
  switch (number) {
    case 0:   /* read */
    case 1:   /* write */
    case 3:   /* close: may flush or linger */
    case 5:   /* fstat */
    case 8:   /* lseek */
    case 16:  /* ioctl */
    case 17:  /* pread64 */
    case 18:  /* pwrite64 */
    case 19:  /* readv */
    case 20:  /* writev */
    case 40:  /* sendfile */
    case 42:  /* connect */
    case 43:  /* accept */
    case 44:  /* sendto */
    case 45:  /* recvfrom */
    case 46:  /* sendmsg */
    case 47:  /* recvmsg */
    case 48:  /* shutdown */
    case 72:  /* fcntl: F_SETLKW */
    case 73:  /* flock */
    case 74:  /* fsync */
    case 75:  /* fdatasync */
    case 77:  /* ftruncate */
    case 78:  /* getdents */
    case 187: /* readahead */
    case 217: /* getdents64 */
    case 232: /* epoll_wait */
    case 275: /* splice */
    case 276: /* tee */
    case 277: /* sync_file_range */
    case 278: /* vmsplice */
    case 281: /* epoll_pwait */
    case 285: /* fallocate */
    case 288: /* accept4 */
    case 295: /* preadv */
    case 296: /* pwritev */
    case 299: /* recvmmsg */
    case 306: /* syncfs */
    case 307: /* sendmmsg */
    case 326: /* copy_file_range */
    case 327: /* preadv2 */
    case 328: /* pwritev2 */
    case 426: /* io_uring_enter */
    case 441: /* epoll_pwait2 */
      return 1;
    default:
      return 0;
  }
}

static __always_inline int starts_with(const char* text, const char* prefix, int length) {
  for (int i = 0; i < length; i++)
    if (text[i] != prefix[i]) return 0;
  return 1;
}

/* Files without a directory entry are distinguished by the name they were made with. */
static __always_inline enum profd_fd_kind anonymous_kind(const char* name) {
  if (starts_with(name, "[eventfd", 8)) return PROFD_FD_EVENTFD;
  if (starts_with(name, "[timerfd", 8)) return PROFD_FD_TIMERFD;
  if (starts_with(name, "[signalf", 8)) return PROFD_FD_SIGNALFD;
  return PROFD_FD_OTHER;
}

static __always_inline enum profd_fd_kind kind_of_mode(u32 mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return PROFD_FD_REGULAR;
    case S_IFBLK:
      return PROFD_FD_BLOCK;
    case S_IFCHR:
      return PROFD_FD_CHAR;
    case S_IFIFO:
      return PROFD_FD_PIPE;
    case S_IFSOCK:
      return PROFD_FD_SOCKET;
    case S_IFDIR:
      return PROFD_FD_DIRECTORY;
    default:
      return PROFD_FD_OTHER;
  }
}

static __noinline u32 fd_kind(struct task_struct* task, u64 fd) {
  struct fdtable* table = BPF_CORE_READ(task, files, fdt);
  struct file **files, *file = 0;
  struct inode* inode;
  char name[8] = {};
  if (!table || fd >= BPF_CORE_READ(table, max_fds)) return PROFD_FD_NONE;
  files = BPF_CORE_READ(table, fd);
  if (bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file) return PROFD_FD_NONE;
  inode = BPF_CORE_READ(file, f_inode);
  if (BPF_CORE_READ(inode, i_sb, s_magic) != ANON_INODE_FS_MAGIC)
    return kind_of_mode(BPF_CORE_READ(inode, i_mode));
  bpf_probe_read_kernel(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
  return anonymous_kind(name);
}

/* Whether the syscall waits for the word that its first argument names, which may be a lock. */
static __always_inline int waits_for_futex(const struct profd_sample_event* event) {
  u64 operation = event->syscall_args[1] & 127; /* without its flags */
  /* FUTEX_WAIT, _WAIT_BITSET, _LOCK_PI, _LOCK_PI2 */
  return event->syscall == NR_FUTEX &&
         (operation == 0 || operation == 9 || operation == 6 || operation == 13);
}

/* Fills the syscall fields of a sample from the user registers of its thread. */
static __always_inline void fill_syscall(struct profd_sample_event* event, struct task_struct* task,
                                         const struct pt_regs___kernel* registers) {
  s64 number = registers->orig_ax;
  u64 first = registers->di;
  if (registers->cs != USER_CS || number < 0) return;
  event->syscall = number;
  event->syscall_args[0] = first;
  event->syscall_args[1] = registers->si;
  event->syscall_args[2] = registers->dx;
  if (takes_fd(number)) event->fd_kind = fd_kind(task, (u32)first);
}
