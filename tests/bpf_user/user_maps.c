#include "tests/bpf_user/user_maps.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PAGES 1024
#define MAX_FILES 16
#define MAX_CPUS 16
#define MAX_WANTED 256
#define RECENTLY_WORDS 32
#define PAGE_SHIFT 12

static __u64 counter_values[PROFD_COUNTER_MAX];
static __u64 recently[RECENTLY_WORDS]; /* struct wanted_recently */
static __u64* pages[MAX_PAGES];
static __u32 slab_numbers[PROFD_MAX_SLABS];
static struct profd_cpu_place places[MAX_CPUS];
static struct profd_unwind_file files[MAX_FILES];
static struct profd_file_key keys[MAX_FILES];
static __u32 key_files[MAX_FILES];
static __u32 key_count;
static struct user_tables tables; /* pool null: our own */
static struct profd_wanted wanted[MAX_WANTED];
static __u32 wanted_count;
static __u64 time_ns;
static __u32 label_pid;
static struct profd_label_process label_process;
static __u32 python_pid;
static struct profd_python_process python_runtime[PROFD_MAX_PYTHON_RUNTIMES];
static __u32 python_runtime_count;

__u64 user_counter(enum profd_counter counter) { return counter_values[counter]; }
__u64 bpf_ktime_get_ns(void) { return time_ns; }
void user_set_time(__u64 now) { time_ns = now; }

void* user_find_counter(__u32 counter) { return &counter_values[counter]; }
void* user_find_recently(void) { return recently; }
void* user_find_place(__u32 cpu) { return cpu < MAX_CPUS ? &places[cpu] : NULL; }

void user_set_places(const struct profd_cpu_place* all, __u32 count) {
  if (count > MAX_CPUS) abort();
  memcpy(places, all, count * sizeof(*all));
  user_constants()->places = 1;
}

void user_set_tables(const struct user_tables* kept) { tables = *kept; }

void* user_find_file(__u32 index) {
  if (tables.pool) return index < PROFD_MAX_UNWIND_FILES ? &tables.files[index] : NULL;
  return index < MAX_FILES ? &files[index] : NULL;
}

void* user_find_file_id(const struct profd_file_key* key) {
  if (tables.pool) return (void*)tables.find(tables.context, key);
  for (__u32 i = 0; i < key_count; i++)
    if (memcmp(&keys[i], key, sizeof(*key)) == 0) return &key_files[i];
  return NULL;
}

void* user_find_labels(__u32 pid) { return pid == label_pid ? &label_process : NULL; }

void user_set_labels(__u32 pid, const struct profd_label_process* process) {
  label_pid = pid;
  label_process = *process;
}

void* user_find_python(__u32 pid) { return pid && pid == python_pid ? python_runtime : NULL; }

void* user_find_python_runtime(const struct profd_python_runtime_key* key) {
  int is_there = key->pid == python_pid && key->runtime && key->runtime < python_runtime_count;
  return is_there ? &python_runtime[key->runtime] : NULL;
}

void user_set_python(__u32 pid, const struct profd_python_process* runtimes, __u32 count) {
  if (count > PROFD_MAX_PYTHON_RUNTIMES) abort();
  python_pid = pid;
  python_runtime_count = count;
  for (__u32 i = 0; i < count; i++) {
    python_runtime[i] = runtimes[i];
    python_runtime[i].pid = pid;
  }
  python_runtime[0].more = count - 1;
  user_control()->python_processes = pid != 0;
}

/* A slab is the address of its number. */
void* user_find_slab(__u32 slab) {
  if (slab >= (tables.pool ? PROFD_MAX_SLABS : MAX_PAGES / PROFD_SLAB_PAGES)) return NULL;
  slab_numbers[slab] = slab;
  return &slab_numbers[slab];
}

void* user_find_page(const void* slab, __u32 page) {
  __u32 index = *(const __u32*)slab * PROFD_SLAB_PAGES + page;
  if (page >= PROFD_SLAB_PAGES) return NULL;
  if (!tables.pool) return pages[index];
  tables.page(tables.context);
  return (char*)tables.pool + (__u64)index * PROFD_POOL_PAGE_BYTES;
}

void* user_make_wanted(__u64 bytes) {
  if (bytes != sizeof(wanted[0]) || wanted_count == MAX_WANTED) return NULL;
  return &wanted[wanted_count++];
}

__u32 user_wanted(const struct profd_wanted** first) {
  if (first) *first = wanted;
  return wanted_count;
}

void* user_pool_page(__u32 page) {
  if (page >= MAX_PAGES) abort();
  if (!pages[page]) pages[page] = calloc(1, PROFD_POOL_PAGE_BYTES);
  return pages[page];
}

struct profd_unwind_file* user_unwind_file(__u32 index) { return &files[index]; }

void user_set_file(const struct profd_file_key* key, __u32 index) {
  if (key_count == MAX_FILES) abort();
  keys[key_count] = *key;
  key_files[key_count++] = index;
}

/* The tree of mappings. What is made lives until the next reset. */

/* As the kernel numbers them. */
#define NODE_BYTES 256
#define LEAF_64 1
#define ARANGE_64 3
#define TYPE_SHIFT 3
#define ROOT 2
#define LEAF_SLOTS 16
#define ARANGE_SLOTS 10

/* What a node's slot covers. */
struct entry {
  __u64 last;
  void* pointer;
};

static void* made[8192];
static __u32 made_count;
static struct mm_struct mm;

static void* make(__u64 bytes) {
  void* one = aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!one || made_count == sizeof(made) / sizeof(made[0])) abort();
  memset(one, 0, (bytes + 255) / 256 * 256);
  return made[made_count++] = one;
}

static struct vm_area_struct* make_vma(const struct user_mapping* mapping) {
  struct vm_area_struct* vma = make(sizeof(*vma));
  vma->vm_start = mapping->begin;
  vma->vm_end = mapping->end;
  vma->vm_pgoff = mapping->file_offset >> PAGE_SHIFT;
  vma->vm_flags = mapping->executable ? VM_EXEC : 0;
  if (mapping->vdso) mm.context.vdso = (void*)mapping->begin;
  if (mapping->has_file) {
    struct inode* inode = make(sizeof(*inode));
    vma->vm_file = make(sizeof(*vma->vm_file));
    vma->vm_file->f_inode = inode;
    inode->i_sb = make(sizeof(*inode->i_sb));
    inode->i_sb->s_dev = mapping->key.device;
    inode->i_ino = mapping->key.inode;
    inode->i_generation = mapping->key.generation;
    inode->i_size = mapping->key.size;
    inode->i_mtime_sec = mapping->key.mtime_ns / 1000000000;
    inode->i_mtime_nsec = mapping->key.mtime_ns % 1000000000;
  }
  return vma;
}

static __u32 add_entry(struct entry* entries, __u32 count, __u64 last, void* pointer) {
  entries[count].last = last;
  entries[count].pointer = pointer;
  return count + 1;
}

/* One node of `count` entries; returns the pointer that its parent holds. */
static void* make_node(const struct entry* entries, __u32 count, int leaf) {
  struct maple_range_64* range = make(NODE_BYTES);
  struct maple_arange_64* arange = (struct maple_arange_64*)range;
  for (__u32 i = 0; i < count; i++) {
    if (leaf) {
      range->slot[i] = entries[i].pointer;
      if (i < 15) range->pivot[i] = entries[i].last;
    } else {
      arange->slot[i] = entries[i].pointer;
      if (i < 9) arange->pivot[i] = entries[i].last;
    }
  }
  /* As the kernel has it: below a node's type, one bit that says that it is no root. */
  return (char*)range + ((leaf ? LEAF_64 : ARANGE_64) << TYPE_SHIFT) + 4;
}

/* Puts entries into nodes, in place; returns how many nodes. */
static __u32 make_level(struct entry* entries, __u32 count, int leaf) {
  __u32 slots = leaf ? LEAF_SLOTS : ARANGE_SLOTS, nodes = 0;
  for (__u32 i = 0; i < count; i += slots) {
    __u32 here = count - i < slots ? count - i : slots;
    void* node = make_node(&entries[i], here, leaf);
    nodes = add_entry(entries, nodes, entries[i + here - 1].last, node);
  }
  return nodes;
}

void user_set_mappings(const struct user_mapping* mappings, __u32 count, __u64 start_stack) {
  struct entry* entries = calloc(2 * count + 1, sizeof(*entries));
  __u32 used = 0;
  __u64 next = 0;
  if (!entries) abort();
  mm.start_stack = start_stack;
  mm.context.vdso = NULL;
  for (__u32 i = 0; i < count; i++) {
    if (mappings[i].begin > next) used = add_entry(entries, used, mappings[i].begin - 1, NULL);
    used = add_entry(entries, used, mappings[i].end - 1, make_vma(&mappings[i]));
    next = mappings[i].end;
  }
  used = add_entry(entries, used, ~0ull, NULL);
  for (int leaf = 1; leaf || used > 1; leaf = 0) used = make_level(entries, used, leaf);
  mm.mm_mt.ma_root = (void*)(((__u64)entries[0].pointer & ~7ull) + ROOT);
  free(entries);
}

struct mm_struct* user_mm(void) { return &mm; }

void user_reset_maps(void) {
  python_pid = 0;
  memset(counter_values, 0, sizeof(counter_values));
  memset(recently, 0, sizeof(recently));
  memset(files, 0, sizeof(files));
  memset(&tables, 0, sizeof(tables));
  for (__u32 i = 0; i < MAX_PAGES; i++) {
    free(pages[i]);
    pages[i] = NULL;
  }
  for (__u32 i = 0; i < made_count; i++) free(made[i]);
  made_count = key_count = wanted_count = 0;
  time_ns = 0;
  memset(&mm, 0, sizeof(mm));
}
