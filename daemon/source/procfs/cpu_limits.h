// CpuLimits: which part of the CPUs a process may use: its affinity, and the quota of its cgroup.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/proc/proc_fs.h"

namespace profd::source {

// What a profile says of a process.
struct CpuLimits {
  std::uint32_t allowed_cpus = 0;       // by its affinity; 0: not known
  double quota_cpus = 0;                // by cpu.max; 0: none is known
  std::uint64_t quota_periods = 0;      // in which the cgroup with that quota wanted to run
  std::uint64_t throttled_periods = 0;  // of these: it had used up its quota
  std::uint64_t throttled_ns = 0;       // of all CPUs: something was kept from running then
};

// The lowest quota of a cgroup (version 2) and of those above it, and how it was used so far.
struct CpuQuota {
  std::string cgroup;  // that has it
  double cpus = 0;
  std::uint64_t periods = 0;
  std::uint64_t throttled = 0;
  std::uint64_t throttled_ns = 0;
};

// Cpus_allowed_list of the process's first thread. Nothing: it cannot be read.
[[nodiscard]] std::optional<std::uint32_t> AllowedCpus(const ProcFs& proc, std::uint32_t pid);
// `cgroups`: where the hierarchy is mounted. Nothing: no quota, or it cannot be read.
[[nodiscard]] std::optional<CpuQuota> QuotaOf(const ProcFs& cgroups, std::string_view cgroup);

}  // namespace profd::source
