/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How a sample is made smaller, in place; what it becomes: events.h. */
#pragma once

#include "bpf/maps.bpf.h"

#define HEADER_WORDS (sizeof(struct profd_event) / sizeof(u64))
#define WORD_UNITS (sizeof(u64) / sizeof(u16))
#define MAX_SAMPLE_UNITS (WORD_UNITS * (FIXED_WORDS + MAX_TAIL_WORDS))

/* No word becomes more than four units, so none is overwritten before it is read. */
static __always_inline void keep_units(struct sample_buffer* sample, u64 value, u32 units) {
  u64 at = sample->packing.units;
  if (at > MAX_SAMPLE_UNITS - WORD_UNITS) return;
  sample->units[at] = value;
  sample->units[at + 1] = value >> 16;
  sample->units[at + 2] = value >> 32;
  sample->units[at + 3] = value >> 48;
  sample->packing.units = at + units;
}

#define HALF_OF(bits) (1ull << ((bits)-1))

static __always_inline void pack_number(struct sample_buffer* sample, u64 word) {
  u64 high = word >> 63;
  u64 difference = word - (high ? sample->packing.high : sample->packing.low);
  u64 one = difference + HALF_OF(PROFD_UNIT_BITS);
  u64 two = difference + HALF_OF(PROFD_TWO_UNITS_BITS);
  if (high)
    sample->packing.high = word;
  else
    sample->packing.low = word;
  if (one >> PROFD_UNIT_BITS == 0)
    keep_units(sample, one << 2 | high, 1);
  else if (two >> PROFD_TWO_UNITS_BITS == 0)
    keep_units(sample, two << 3 | 2 | high, 2);
  else
    keep_units(sample, word << 3 | 6 | high, 4);
}

/* The validator and the instruction of a Python frame. */
static __always_inline void pack_second(struct sample_buffer* sample, u64 word) {
  u64 instruction = (u32)word, value = word >> 32 | instruction << 33;
  if (instruction >> 15)
    keep_units(sample, value | 1ull << 32, 4);
  else
    keep_units(sample, value, 3);
}

static long pack_word(u32 index, struct sample_buffer** of) {
  struct sample_buffer* sample = *of;
  u64 word;
  if (index >= MAX_TAIL_WORDS) return 1;
  word = sample->event.frames[index];
  if (sample->packing.second) {
    sample->packing.second = 0;
    pack_second(sample, word);
    return 0;
  }
  if (index >= sample->packing.cfas_end)
    sample->packing.second = !(word >> 63);
  else if (index >= sample->packing.frames)
    sample->packing.low += 1ull << PROFD_CFA_INDEX_SHIFT;
  pack_number(sample, word);
  return 0;
}

/* Without branches: the verifier would follow each way through all of them. */
static __always_inline void pack_fixed(struct sample_buffer* sample) {
  u64 at = HEADER_WORDS, kept = 0;
  for (u32 i = HEADER_WORDS; i < FIXED_WORDS; i++) {
    u64 word = sample->words[i], there = -word;
    forget(there);
    there = (there | word) >> 63;
    sample->words[at] = word;
    at += there;
    kept |= there << (i - HEADER_WORDS);
  }
  sample->event.event.kept = kept;
  sample->packing.units = at * WORD_UNITS;
}

#define COUNT_UNITS (sizeof(struct profd_pmu_counts) / sizeof(u16))

/* Behind `units`; the units of both. */
static __always_inline u64 append_counts(struct sample_buffer* sample, u64 units) {
  if (units > MAX_SAMPLE_UNITS) return 0;
  bpf_probe_read_kernel(&sample->units[units], sizeof(sample->counts), &sample->counts);
  return units + COUNT_UNITS;
}

/* Behind `units`; the bytes of both. */
static __always_inline u64 append_labels(struct sample_buffer* sample, u64 units, u64 bytes) {
  forget(bytes); /* so that the bounds stand here, where the verifier needs them */
  if (units > MAX_SAMPLE_UNITS + COUNT_UNITS || bytes > PROFD_MAX_LABEL_BYTES) return 0;
  if (bytes) bpf_probe_read_kernel(&sample->units[units], bytes, &sample->labels.head);
  return units * sizeof(u16) + bytes;
}

/* Packs a sample. From then on only the common header stands where its struct says. Its bytes. */
static __always_inline u64 finish_sample(struct sample_buffer* sample) {
  struct profd_sample_event* event = &sample->event;
  struct packing* packing = &sample->packing;
  u32 words;
  u64 units, labels = event->label_bytes, bytes;
  int counted =
      event->event.kind == PROFD_EVENT_ON_CPU && (event->event.flags & PROFD_SAMPLE_COUNTED) != 0;
  packing->low = packing->high = packing->second = 0;
  packing->frames = (u32)event->kernel_frames + event->user_frames;
  packing->cfas_end = packing->frames + event->cfas;
  words = packing->cfas_end + event->python_words;
  if (words > MAX_TAIL_WORDS) words = MAX_TAIL_WORDS;
  pack_fixed(sample);
  bpf_loop(words, pack_word, &sample, 0);
  units = packing->units;
  if (units > MAX_SAMPLE_UNITS) units = MAX_SAMPLE_UNITS;
  if (counted) units = append_counts(sample, units);
  event->event.flags |= PROFD_SAMPLE_PACKED;
  bytes = append_labels(sample, units, labels);
  event->event.size = bytes;
  return bytes;
}
