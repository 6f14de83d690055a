// Features: what this kernel can do for profd, found out once at start.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/base/proc/proc_fs.h"
#include "daemon/base/result.h"
#include "daemon/wire/cpu_place.h"

namespace profd::source {

// What makes the passes of snapshot mode.
enum class ObserverKind {
  kNone,      // the kernel has no run_delay, or its verifier refuses both of them
  kIterator,  // a sleepable task iterator: passes all threads at each sampling point
  kProgram,   // a program that iterates by itself (kernel 6.7): only those that have switched
};

struct Features {
  std::string kernel_release;                    // of uname
  bool sched_exit_tp = false;                    // first level of hooks
  bool run_delay = false;                        // kernel accounting splits blocked from runnable
  ObserverKind observers = ObserverKind::kNone;  // the best that can be tried
  bool cgroup_attach = false;        // threads that move between cgroups can be followed
  std::vector<CpuPlace> cpu_places;  // of the CPUs that are online; empty: not known
  std::uint32_t cpu_numbers = 0;     // 1 + the highest that a CPU may have; 0: not known
  std::vector<std::string> missing_capabilities;  // without these less is visible
};

// kUnsupported in one line when `release` ("6.1.0-37-amd64") is older than kOldestKernel.
[[nodiscard]] Result<void> CheckRelease(const std::string& release);

// kUnsupported when the text of /sys/kernel/security/lockdown says that BPF may not read memory.
[[nodiscard]] Result<void> CheckLockdown(const std::string& text);

// What the kernel's types (BTF), a file like /sys/kernel/btf/vmlinux, say of it. kUnsupported: it
// has none.
[[nodiscard]] Result<void> ReadKernelTypes(const std::string& path, Features& features);

// kUnsupported: this kernel cannot run profd, and why. kPermissionDenied: a capability is missing.
[[nodiscard]] Result<Features> ProbeFeatures();

// kernel.perf_event_max_sample_rate as it is now (the kernel itself may lower it); 0: unknown.
[[nodiscard]] std::uint64_t MaxSampleRateHz(const ProcFs& proc);

}  // namespace profd::source
