// CpuLimitWatch: which part of the CPUs the processes of one session may use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "daemon/aggregate/profile.h"
#include "daemon/base/proc/proc_fs.h"
#include "daemon/process/process_info.h"
#include "daemon/source/procfs/cpu_limits.h"

namespace profd::pipeline {

// Job: reads the quota of each cgroup when the first of its processes comes and again at the end of
// the session, and the affinity of each process at the end: the kernel counts the use of a quota
// since the cgroup was made.
// Thread: the symbolizer thread. Owner: SessionBuilders, one a session.
// Limits: it says nothing of processes that have ended, of groups, and of more than kMost of
// either.
class CpuLimitWatch {
 public:
  static constexpr std::size_t kMost = 1'000;

  // `cgroups`: where the hierarchy (version 2) is mounted.
  CpuLimitWatch(ProcFs proc, ProcFs cgroups)
      : proc_(std::move(proc)), cgroups_(std::move(cgroups)) {}

  // With each event of the process. Null changes nothing.
  void Add(const process::ProcessInfoRef& process);
  // Sets the limits of the processes.
  void Describe(aggregate::Profile& profile) const;

 private:
  [[nodiscard]] source::CpuLimits LimitsOf(const aggregate::ProfileProcess& process) const;

  const ProcFs proc_;
  const ProcFs cgroups_;
  process::ProcessInfoRef last_;
  std::unordered_map<std::string, std::optional<source::CpuQuota>> first_;  // by cgroup
};

}  // namespace profd::pipeline
