// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/control.h"
#include "bpf/events.h"
volatile struct profd_control control;
char LICENSE[] SEC("license") = "Dual BSD/GPL";
