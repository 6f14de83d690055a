// Stands in for libbpf's header of the same name, so that bpf/*.bpf.h compile as user code. The
// helpers are functions that tests provide (bpf_as_user.c).
#pragma once

#include <linux/types.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) __typeof__(value)* name
#define __array(name, value) __typeof__(value)* name[]
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))
#define LOADED_CONST

struct task_struct;

void* bpf_map_lookup_elem(void* map, const void* key);
long bpf_map_update_elem(void* map, const void* key, const void* value, __u64 flags);
__u32 bpf_get_prandom_u32(void);
long bpf_probe_read_user(void* to, __u32 bytes, const void* from);
long bpf_probe_read_user_str(void* to, __u32 bytes, const void* from);
long bpf_probe_read_kernel(void* to, __u32 bytes, const void* from);
long bpf_copy_from_user_task(void* to, __u32 bytes, const void* from, struct task_struct* task,
                             __u64 flags);
__u64 bpf_ktime_get_ns(void);
struct bpf_perf_event_value;
long bpf_perf_event_read_value(void* map, __u64 flags, struct bpf_perf_event_value* to,
                               __u32 bytes);
void* bpf_ringbuf_reserve(void* ring, __u64 bytes, __u64 flags);
void bpf_ringbuf_submit(void* record, __u64 flags);
long bpf_loop(__u32 turns, void* callback, void* context, __u64 flags);
