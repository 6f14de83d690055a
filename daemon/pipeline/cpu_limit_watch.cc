#include "daemon/pipeline/cpu_limit_watch.h"

namespace profd::pipeline {

void CpuLimitWatch::Add(const process::ProcessInfoRef& process) {
  // Events of one process come in rows.
  if (!process || process == last_) return;
  last_ = process;
  if (process->cgroup.empty() || first_.size() >= kMost || first_.contains(process->cgroup)) return;
  first_.emplace(process->cgroup, source::QuotaOf(cgroups_, process->cgroup));
}

void CpuLimitWatch::Describe(aggregate::Profile& profile) const {
  std::size_t described = 0;
  for (aggregate::ProfileProcess& process : profile.processes) {
    if (process.exited || process.group_size != 0) continue;
    if (++described > kMost) return;
    const source::CpuLimits limits = LimitsOf(process);
    if (limits.allowed_cpus != 0 || limits.quota_cpus != 0) process.cpu_limits = limits;
  }
}

source::CpuLimits CpuLimitWatch::LimitsOf(const aggregate::ProfileProcess& process) const {
  source::CpuLimits limits;
  limits.allowed_cpus = source::AllowedCpus(proc_, process.key.pid).value_or(0);
  const auto first = first_.find(process.cgroup);
  const auto now = source::QuotaOf(cgroups_, process.cgroup);
  if (!now) return limits;
  limits.quota_cpus = now->cpus;
  // Another cgroup has the lowest quota by now, or the first one was removed and made again.
  if (first == first_.end() || !first->second || first->second->cgroup != now->cgroup ||
      first->second->periods > now->periods || first->second->throttled > now->throttled ||
      first->second->throttled_ns > now->throttled_ns)
    return limits;
  limits.quota_periods = now->periods - first->second->periods;
  limits.throttled_periods = now->throttled - first->second->throttled;
  limits.throttled_ns = now->throttled_ns - first->second->throttled_ns;
  return limits;
}

}  // namespace profd::pipeline
