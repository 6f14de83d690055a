/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How the words of a sample's tail are made smaller, in place; what pieces are: events.h. */
#pragma once

#include "bpf/maps.bpf.h"

#define MAX_TAIL_PIECES (2 * MAX_TAIL_WORDS)

/*
 * No word becomes more than two pieces, so none is overwritten before it is read. Those written so
 * far are counted in the event's size: what is in memory the verifier does not follow, turn by
 * turn.
 */
struct packing {
  struct profd_sample_event* event;
  u64 previous;
  u32 packed; /* words in front that are packed; those behind are copied */
};

static __always_inline void keep_piece(struct profd_sample_event* event, u32 piece) {
  u64 at = event->event.size;
  if (at > MAX_TAIL_PIECES - 1) return;
  ((u32*)event->frames)[at] = piece;
  event->event.size = at + 1;
}

static __always_inline void keep_two(struct profd_sample_event* event, u32 first, u32 second) {
  u64 at = event->event.size;
  u32* pieces = (u32*)event->frames;
  if (at > MAX_TAIL_PIECES - 2) return;
  pieces[at] = first;
  pieces[at + 1] = second;
  event->event.size = at + 2;
}

static long pack_word(u32 index, struct packing* packing) {
  struct profd_sample_event* event = packing->event;
  u64 word, difference;
  if (index >= MAX_TAIL_WORDS) return 1;
  word = event->frames[index];
  if (index >= packing->packed) {
    keep_two(event, word, word >> 32);
    return 0;
  }
  difference = word - packing->previous + PROFD_PIECE_RANGE;
  packing->previous = word;
  if (difference < 2 * PROFD_PIECE_RANGE) {
    keep_piece(event, difference);
    return 0;
  }
  keep_two(event, PROFD_PIECE_WIDE | (u32)(word >> 63) << 30 | ((word >> 32) & 0x3fffffff), word);
  return 0;
}

/* Packs the first words of the tail; returns the bytes that all of it takes. */
static __always_inline u64 pack_tail(struct profd_sample_event* event, u32 packed, u32 words) {
  struct packing packing = {.event = event, .packed = packed};
  u64 pieces;
  event->event.size = 0;
  bpf_loop(words, pack_word, &packing, 0);
  pieces = event->event.size;
  if (pieces > MAX_TAIL_PIECES) pieces = MAX_TAIL_PIECES;
  return pieces * sizeof(u32);
}

/* Bytes of a sample with the frames it has, which are packed now; sets its size. */
static __always_inline u64 finish_sample(struct profd_sample_event* event) {
  u32 packed = (u32)event->kernel_frames + event->user_frames + event->cfas;
  u32 words = packed + event->python_words;
  u64 bytes;
  if (words > MAX_TAIL_WORDS) words = MAX_TAIL_WORDS;
  bytes = sizeof(*event) + pack_tail(event, packed, words);
  event->event.flags |= PROFD_SAMPLE_PACKED;
  event->event.size = bytes;
  return bytes;
}
