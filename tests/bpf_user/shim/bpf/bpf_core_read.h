// Stands in for libbpf's header: plain reads, no relocation; every field exists.
#pragma once

#define CORE_READ_1(source, a) ((source)->a)
#define CORE_READ_2(source, a, b) ((source)->a->b)
#define CORE_READ_PICK(_1, _2, name, ...) name
#define BPF_CORE_READ(source, ...) \
  CORE_READ_PICK(__VA_ARGS__, CORE_READ_2, CORE_READ_1)(source, __VA_ARGS__)
#define bpf_core_field_exists(...) 1
#define bpf_core_field_offset(type, field) __builtin_offsetof(type, field)
