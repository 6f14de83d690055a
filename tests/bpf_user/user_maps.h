// The maps of bpf/maps.bpf.h and the mappings of a process, for the BPF side as user code.
#pragma once

#include "bpf/kernel/process_types.h"
#include "tests/bpf_user/bpf_as_user.h"

void user_reset_maps(void);
struct mm_struct* user_mm(void);

/* What a look-up in each map finds. */
void* user_find_counter(__u32 counter);
void* user_find_recently(void);
void* user_find_place(__u32 cpu);
void* user_find_file_id(const struct profd_file_key* key);
void* user_find_file(__u32 index);
void* user_find_slab(__u32 slab);
void* user_find_page(const void* slab, __u32 page);
void* user_find_labels(__u32 pid);
void* user_find_python(__u32 pid);
void* user_find_python_runtime(const struct profd_python_runtime_key* key);
void* user_make_wanted(__u64 bytes);
