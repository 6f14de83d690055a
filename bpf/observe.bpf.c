// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The program that observers run in snapshot mode. It stands in an object of its own because libbpf
 * refuses an object that names kernel functions which are missing, even if no loaded program calls
 * them. Its maps and global words are those of profd.bpf.c.
 */
#include "bpf/kernel/iterator_types.h"
#include "bpf/sample/pass.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("syscall")
int observe(struct profd_pass* ctx) {
  observe_threads(ctx);
  return 0;
}
