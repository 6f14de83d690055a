/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How the words of a sample's tail are made smaller, in place; what pieces are: events.h. */
#pragma once

#include "bpf/maps.bpf.h"

#define MAX_TAIL_PIECES (2 * MAX_TAIL_WORDS)

/* No word becomes more than two pieces, so none is overwritten before it is read. */
struct packing {
  struct profd_sample_event* event;
  u64 previous;
  u32 packed; /* words in front that are packed; those behind are copied */
  u32 pieces; /* written so far */
};

static __always_inline void keep_piece(struct packing* packing, u32 piece) {
  u32 at = packing->pieces;
  if (at >= MAX_TAIL_PIECES) return;
  ((u32*)packing->event->frames)[at] = piece;
  packing->pieces = at + 1;
}

static long pack_word(u32 index, struct packing* packing) {
  u64 word, difference;
  if (index >= MAX_TAIL_WORDS) return 1;
  word = packing->event->frames[index];
  if (index >= packing->packed) {
    keep_piece(packing, word);
    keep_piece(packing, word >> 32);
    return 0;
  }
  difference = word - packing->previous + PROFD_PIECE_RANGE;
  packing->previous = word;
  if (difference < 2 * PROFD_PIECE_RANGE) {
    keep_piece(packing, difference);
    return 0;
  }
  keep_piece(packing, PROFD_PIECE_WIDE | (u32)(word >> 63) << 30 | ((word >> 32) & 0x3fffffff));
  keep_piece(packing, word);
  return 0;
}

/* Packs the first words of the tail; returns the bytes that all of it takes. */
static __always_inline u64 pack_tail(struct profd_sample_event* event, u32 packed, u32 words) {
  struct packing packing = {.event = event, .packed = packed};
  u32 bytes;
  bpf_loop(words, pack_word, &packing, 0);
  bytes = packing.pieces * sizeof(u32);
  return bytes > MAX_TAIL_WORDS * sizeof(u64) ? MAX_TAIL_WORDS * sizeof(u64) : bytes;
}
