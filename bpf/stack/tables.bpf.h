/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The rule for an address in a mapping: file -> chunk -> rows -> rule (unwind_table.h). User space
 * writes the tables, and they are not trusted: each place is looked up in the maps, and each number
 * is bounded. Missing chunks are requested.
 */
#pragma once

#include "bpf/stack/mapping.bpf.h"

enum rule_search {
  RULE_FOUND,     /* in walk->rule */
  RULE_NONE,      /* the tables have none: continue by frame pointer */
  RULE_NOT_READY, /* not loaded yet */
  RULE_NO_MAPPING /* the address is no code */
};

/* A page of the pool; 0: there is none. */
static __always_inline void* pool_page(u32 page) {
  u32 slab = page / PROFD_SLAB_PAGES, index = page % PROFD_SLAB_PAGES;
  void* pages = bpf_map_lookup_elem(&unwind_pool, &slab);
  return pages ? bpf_map_lookup_elem(pages, &index) : 0;
}

#define PAGE_ROWS (PROFD_POOL_PAGE_BYTES / sizeof(struct profd_unwind_row))

/* `bytes` at a place, all in one page; 0: nowhere. */
static __always_inline void* at_place(u32 place, u32 bytes) {
  u64 unit = place % PAGE_UNITS;
  u64* page = pool_page(place / PAGE_UNITS);
  forget(unit);
  if (!page || unit > (PROFD_POOL_PAGE_BYTES - bytes) / PROFD_PLACE_UNIT) return 0;
  return page + unit;
}

/* A row of a page, its number made sure of where the verifier sees it. */
static __always_inline const struct profd_unwind_row* row_at(const struct profd_unwind_row* rows,
                                                             u64 number) {
  forget(number);
  return &rows[number % PAGE_ROWS];
}

/*
 * Rule of the last of `count` rows that begins at or before `offset`, all in one page; the first
 * row's if none does. The comparisons are arithmetic, as the verifier would follow each branch.
 */
static __always_inline u32 rule_in_page(const struct profd_unwind_row* rows, u64 first, u64 count,
                                        u64 offset) {
  u64 found = first;
#pragma unroll
  for (u64 step = PROFD_BLOCK_MAX_ROWS / 2; step; step /= 2) {
    if (count > step) {
      u64 next = found + step;
      u64 both = (row_at(rows, next)->offset - offset - 1) & (next - first - count);
      forget(both); /* the top bit: the row begins in time, and it is one */
      found += (both >> 63) * step;
    }
  }
  return row_at(rows, found)->rule;
}

/* Rule of the row for `offset` in a chunk; 0: none. Global: the verifier looks at it once. */
__noinline u32 rule_in_chunk(u32 place, u32 offset) {
  u32 block = (offset >> PROFD_BLOCK_SHIFT) % PROFD_CHUNK_BLOCKS;
  struct profd_chunk* chunk = at_place(place, sizeof(*chunk));
  struct profd_unwind_row* rows;
  u64 begin, end, row, count;
  u32 page;
  if (!chunk) return 0;
  begin = chunk->first_row[block];
  end = chunk->first_row[block + 1];
  if (begin >= end || end - begin > PROFD_BLOCK_MAX_ROWS) return 0;
  count = end - begin;
  row = (u64)place * (PROFD_PLACE_UNIT / sizeof(*rows)) + sizeof(*chunk) / sizeof(*rows) + begin;
  page = row / PAGE_ROWS;
  row %= PAGE_ROWS;
  if (row + count > PAGE_ROWS) {
    rows = pool_page(page + 1);
    if (!rows) return 0;
    if (rows->offset <= offset) return rule_in_page(rows, 0, row + count - PAGE_ROWS, offset);
    count = PAGE_ROWS - row;
  }
  rows = pool_page(page);
  return rows ? rule_in_page(rows, row, count, offset) : 0;
}

static __always_inline void note_use(u32* last_used) {
  u32 tick = control.tick;
  if (*last_used != tick) *last_used = tick;
}

/* Copies a rule into the walk. The file's rules may be moving: their place and number are one. */
static __always_inline enum rule_search take_rule(struct walk* walk,
                                                  const struct profd_unwind_file* file, u32 rule) {
  u64 rules = *(const volatile u64*)&file->rules;
  struct profd_unwind_rule* found;
  if (!rule) return RULE_NONE;
  if (rule >= rules >> 32) return RULE_NOT_READY;
  found = at_place((u32)rules + rule * (sizeof(*found) / PROFD_PLACE_UNIT), sizeof(*found));
  if (!found) return RULE_NOT_READY;
  walk->rule = *found;
  return found->cfa == PROFD_CFA_NONE ? RULE_NONE : RULE_FOUND;
}

/* Was this requested on this CPU in the last 10 ms? An interrupting program may make it wrong. */
#define WANTED_AGAIN_NS 10000000

static __always_inline int is_wanted_already(const struct profd_file_key* key, u64 file_offset) {
  u64 what = (key->inode ^ ((u64)key->device << 32) ^ (key->mtime_ns << 7)) +
             (file_offset >> PROFD_CHUNK_SHIFT) * 0x9E3779B97F4A7C15ull;
  u64 now = bpf_ktime_get_ns();
  u32 zero = 0;
  struct wanted_recently* recently = bpf_map_lookup_elem(&wanted_recently, &zero);
  u32 slot;
  what = (what ^ key->size) * 0x9E3779B97F4A7C15ull;
  slot = what >> 60;
  if (!recently) return 1;
  if (recently->what[slot] == what && now - recently->time_ns[slot] < WANTED_AGAIN_NS) return 1;
  recently->what[slot] = what;
  recently->time_ns[slot] = now;
  return 0;
}

/* Asks for the tables of a chunk; 0: it was requested already, or the ring is full. */
static __always_inline int want_tables(const struct mapping* mapping, u64 file_offset, u32 pid) {
  struct profd_wanted* wanted;
  if (is_wanted_already(&mapping->key, file_offset)) return 0;
  wanted = bpf_ringbuf_reserve(&ring_wanted, sizeof(*wanted), 0);
  if (!wanted) {
    count(PROFD_COUNTER_TABLES_WANTED_LOST);
    return 0;
  }
  wanted->key = mapping->key;
  wanted->mapping_begin = mapping->begin;
  wanted->mapping_end = mapping->end;
  wanted->file_offset = file_offset;
  wanted->pid = pid;
  wanted->reserved = 0;
  bpf_ringbuf_submit(wanted, 0);
  count(PROFD_COUNTER_TABLES_WANTED);
  return 1;
}

/* The rule for a file offset, into the walk. */
static __always_inline enum rule_search find_file_rule(struct walk* walk,
                                                       const struct mapping* mapping,
                                                       u64 file_offset) {
  u32 index = mapping->file;
  struct profd_unwind_file* file = bpf_map_lookup_elem(&unwind_files, &index);
  struct profd_chunk_ref* ref;
  u64 chunk;
  u32 place;
  if (!file || !(file->flags & PROFD_FILE_PRESENT)) return RULE_NOT_READY;
  note_use(&file->last_used);
  walk->keep_cfa = file->flags & PROFD_FILE_KEEP_CFA;
  if (file->flags & PROFD_FILE_NO_TABLES) return RULE_NONE;
  chunk = (file_offset >> PROFD_CHUNK_SHIFT) - file->first_chunk;
  if (chunk >= file->chunks) return RULE_NONE;
  ref = at_place(file->index + (u32)chunk, sizeof(*ref));
  if (!ref || !ref->place) return RULE_NOT_READY;
  note_use(&ref->last_used);
  place = ref->place;
  if (place == PROFD_CHUNK_EMPTY) return RULE_NONE;
  return take_rule(walk, file, rule_in_chunk(place, file_offset & ((1 << PROFD_CHUNK_SHIFT) - 1)));
}

static __noinline u32 file_of(const struct mapping* mapping) {
  struct profd_file_key key = mapping->key; /* older kernels take no keys from elsewhere */
  u32* file = bpf_map_lookup_elem(&unwind_file_ids, &key);
  return file ? *file : NO_FILE;
}

/* Looks up the mapping of an address and its file, as walk->current. Global: as above. */
__noinline int learn_mapping(struct walk* walk, u64 address) {
  struct mapping* mapping;
  if (!walk) return 0;
  walk->current++;
  mapping = &walk->mappings[walk->current % KNOWN_MAPPINGS];
  find_mapping((struct mm_struct*)walk->mm, address, &walk->node, mapping);
  if (mapping->kind != MAPPING_NONE) mapping->file = file_of(mapping);
  return 0;
}

static __always_inline int is_in(const struct mapping* mapping, u64 address) {
  return address - mapping->begin < mapping->end - mapping->begin;
}

/* The mapping that holds an address: one of the last few, or looked up. */
static __always_inline struct mapping* mapping_of(struct walk* walk, u64 address) {
  for (u32 i = 0; i < KNOWN_MAPPINGS; i++) {
    u32 index = (walk->current - i) % KNOWN_MAPPINGS;
    if (is_in(&walk->mappings[index], address)) return &walk->mappings[index];
  }
  learn_mapping(walk, address);
  return &walk->mappings[walk->current % KNOWN_MAPPINGS];
}

/*
 * The rule for the code at an address, into the walk; what is missing is requested. Returns enum
 * rule_search. Global: as above.
 */
__noinline int find_rule(struct walk* walk, u64 address, u32 pid) {
  struct mapping* mapping;
  enum rule_search search;
  u64 file_offset;
  if (!walk) return RULE_NOT_READY;
  mapping = mapping_of(walk, address);
  walk->keep_cfa = 0;
  if (mapping->kind == MAPPING_NONE) return RULE_NO_MAPPING;
  file_offset = address - mapping->begin + mapping->file_offset;
  search = find_file_rule(walk, mapping, file_offset);
  if (search != RULE_NOT_READY) return search;
  if (mapping->kind == MAPPING_ANONYMOUS) {
    want_tables(mapping, file_offset, pid);
    return RULE_NONE; /* most of such code has no rules, but frame pointers */
  }
  walk->requested = want_tables(mapping, file_offset, pid);
  return RULE_NOT_READY;
}

/* Is the chunk of this file offset one that is not loaded? */
static __always_inline int lacks_chunk(const struct mapping* mapping, u64 file_offset) {
  u32 index = mapping->file;
  struct profd_unwind_file* file = bpf_map_lookup_elem(&unwind_files, &index);
  struct profd_chunk_ref* ref;
  u64 chunk;
  if (!file || !(file->flags & PROFD_FILE_PRESENT)) return 1;
  chunk = (file_offset >> PROFD_CHUNK_SHIFT) - file->first_chunk;
  if (chunk >= file->chunks) return 0;
  ref = at_place(file->index + (u32)chunk, sizeof(*ref));
  return ref && !ref->place;
}

/*
 * Asks for what the walk will miss next: `word`, from above the frame where it ended, may be a
 * return address into the same file. Global: as above.
 */
__noinline int ask_ahead(struct walk* walk, u64 word, u32 pid) {
  struct mapping* mapping;
  u64 file_offset;
  if (!walk) return 0;
  mapping = &walk->mappings[walk->current % KNOWN_MAPPINGS];
  if (mapping->kind != MAPPING_FILE || !is_in(mapping, word)) return 0;
  file_offset = word - 1 - mapping->begin + mapping->file_offset;
  if (lacks_chunk(mapping, file_offset)) want_tables(mapping, file_offset, pid);
  return 0;
}
