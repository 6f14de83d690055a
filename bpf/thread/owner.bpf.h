/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Whose a thread is. A user may look at what the kernel would let that user trace: all its user ids
 * are the user's, it has gained nothing by its program (then it is not dumpable), and it has no
 * rights of the host. Such a thread can become another's only by a program that it executes.
 */
#pragma once

#include <bpf/bpf_core_read.h>

#include "bpf/kernel/process_types.h"
#include "bpf/thread/task.bpf.h"

static __always_inline unsigned long memory_flags(struct mm_struct* mm) {
  struct mm_struct___bitmap* bitmap = (void*)mm;
  struct mm_struct___word* word = (void*)mm;
  if (bpf_core_field_exists(bitmap->flags.__mm_flags))
    return BPF_CORE_READ(bitmap, flags.__mm_flags[0]);
  return BPF_CORE_READ(word, flags);
}

static __always_inline u64 permitted(const struct cred* cred) {
  const struct cred___words* words = (const void*)cred;
  if (bpf_core_field_exists(cred->cap_permitted.val)) return BPF_CORE_READ(cred, cap_permitted.val);
  return BPF_CORE_READ(words, cap_permitted.cap[0]) | BPF_CORE_READ(words, cap_permitted.cap[1]);
}

#define USER_LEVELS 33 /* of user namespaces */

struct space_climb {
  struct user_namespace* space;
};

static long climb_space(u32 turn, struct space_climb* climb) {
  struct user_namespace* space = climb->space;
  if (BPF_CORE_READ(space, level) <= 1) return 1;
  climb->space = BPF_CORE_READ(space, parent);
  return 0;
}

/* The user to whom a process counts: who made its outermost user namespace, or its own; as
 * reader::UserOf. */
static __noinline u32 user_of(struct task_struct* task) {
  const struct cred* cred = BPF_CORE_READ(task, real_cred);
  struct space_climb climb = {.space = BPF_CORE_READ(cred, user_ns)};
  struct user_namespace* space;
  u32 owner;
  bpf_loop(USER_LEVELS, climb_space, &climb, 0);
  space = climb.space;
  owner = BPF_CORE_READ(space, level) == 1 ? BPF_CORE_READ(space, owner.val) : 0;
  return owner ? owner : BPF_CORE_READ(cred, uid.val);
}

static __noinline int belongs_to_user(struct task_struct* task, u32 uid) {
  const struct cred* cred = BPF_CORE_READ(task, real_cred);
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  if (!cred || !mm) return 0;
  if (BPF_CORE_READ(cred, uid.val) != uid || BPF_CORE_READ(cred, euid.val) != uid ||
      BPF_CORE_READ(cred, suid.val) != uid)
    return 0;
  if ((memory_flags(mm) & MMF_DUMPABLE_MASK) != SUID_DUMP_USER) return 0;
  /* In a user namespace of its own, it has rights over that alone. */
  return !permitted(cred) || BPF_CORE_READ(cred, user_ns, level) != 0;
}
