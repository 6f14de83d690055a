/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shares: what one process or user may report, so that it cannot use up what all share. The laws
 * work on one `struct profd_share` and on times passed in, so tests compile them as user code.
 */
#pragma once

#include "bpf/thread/clock.bpf.h"

#define SHARE_SECOND_NS 1000000000ull

/* Takes one of `at_once`, which come back at `per_second`; 0: the share is used up. */
static __always_inline int take_one(struct profd_share* share, u64 now, u64 per_second,
                                    u64 at_once) {
  u64 cost = SHARE_SECOND_NS / per_second;
  u64 used = share->used_ns > now ? share->used_ns : now;
  if (used + cost > now + at_once * cost) {
    share->beyond_ns = now;
    share->beyond++;
    return 0;
  }
  share->used_ns = used + cost;
  return 1;
}

#define MAX_HALVINGS 16

/*
 * By how much the samples of a process's waits are subsampled: of 2^halvings one is taken, by
 * chance, and stands for all. It follows from the samples before, so whether a sample is taken does
 * not depend on what is in it: the sums stay unbiased. Within a block it grows with each doubling,
 * so a block has at most `in_block` samples for each step.
 */
static __always_inline u32 count_wait(struct profd_share* share, u64 now, u64 in_block) {
  if (now - share->used_ns >= PROFD_WAITS_BLOCK_NS) {
    /* After an idle block nothing is known. */
    int idle = now - share->used_ns >= 2 * PROFD_WAITS_BLOCK_NS;
    if (idle)
      share->halvings = 0;
    else if (share->halvings && share->in_block < (in_block << share->halvings) / 4)
      share->halvings--;
    share->used_ns = now;
    share->in_block = 0;
  }
  if (++share->in_block > in_block << (share->halvings & 31) && share->halvings < MAX_HALVINGS)
    share->halvings++;
  return share->halvings & 31;
}

/*
 * The share of that key, made if there is none; 0: there is no room. Making one takes a lock, so
 * this is called only where threads are made, renamed, or have just switched in: without the
 * run-queue lock, and never in an NMI.
 */
static __noinline struct profd_share* share_of(u32 kind, u32 id) {
  struct profd_share_key key = {.kind = kind, .id = id};
  struct profd_share* share = bpf_map_lookup_elem(&shares, &key);
  if (!share) {
    struct profd_share unused = {};
    bpf_map_update_elem(&shares, &key, &unused, BPF_NOEXIST);
    share = bpf_map_lookup_elem(&shares, &key);
  }
  return share;
}

/* 1 where there is no room for shares: they are a limit, not a right. */
static __always_inline int take_share(u32 kind, u32 id, u64 now, u64 per_second, u64 at_once) {
  struct profd_share* share = share_of(kind, id);
  return !share || take_one(share, now, per_second * constants.share_scale, at_once);
}

/* Of 2^halvings samples of the process's waits, one is taken: the halvings; -1: not this one. */
static __always_inline int take_wait(u32 pid, u64 now) {
  struct profd_share* share = share_of(PROFD_SHARE_WAITS, pid);
  u32 halvings;
  if (!share) return 0;
  halvings = count_wait(share, now, PROFD_WAITS_IN_BLOCK * constants.share_scale);
  if (!(bpf_get_prandom_u32() & ((1u << halvings) - 1))) return halvings;
  share->beyond_ns = now;
  share->beyond++;
  return -1;
}
