#include "daemon/aggregate/profile.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "daemon/process/cgroup_names.h"

namespace profd::aggregate {

ProfileProcess DescribeProcess(const ProcessKey& key, const process::ProcessInfo* info,
                               bool innermost_pids) {
  ProfileProcess process;
  process.key = key;
  // /proc may have been unreadable, or the process gone before it was read. Its samples still
  // count.
  process.shown_pid = key.pid;
  if (info == nullptr) return process;
  if (innermost_pids && !info->namespace_pids.empty())
    process.shown_pid = info->namespace_pids.back();
  process.comm = info->comm;
  process.command_line = info->command_line;
  process.cgroup = info->cgroup;
  process.container = process::ContainerOf(info->cgroup);
  process.unit = process::UnitOf(info->cgroup);
  process.owner = info->owner;
  process.executable = info->executable;
  return process;
}

std::uint64_t WindowLength(const Profile& profile) {
  return profile.end_ns > profile.start_ns ? profile.end_ns - profile.start_ns : 0;
}

std::uint64_t StateClock(const profd_clock& clock, process::State state) {
  const auto sum = [](std::span<const __u64> parts) {
    return std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
  };
  if (state == process::State::kOnCpu) return clock.on_cpu_ns;
  return state == process::State::kRunnable ? sum(clock.runnable_ns) : sum(clock.blocked_ns);
}

std::uint64_t ClockTotal(const profd_clock& clock) {
  return StateClock(clock, process::State::kOnCpu) + StateClock(clock, process::State::kRunnable) +
         StateClock(clock, process::State::kBlocked);
}

double ClosureError(const ProfileThread& thread) {
  // A missing clock is reported by its own flag; an error of -100 % would hide all real errors.
  if (thread.clock_missing || thread.end_ns <= thread.begin_ns) return 0;
  const auto elapsed = static_cast<double>(thread.end_ns - thread.begin_ns);
  return (static_cast<double>(ClockTotal(thread.clock)) - elapsed) / elapsed;
}

double WorstClosureError(const Profile& profile) {
  double worst = 0;
  for (const auto& thread : profile.threads)
    worst = std::max(worst, std::fabs(ClosureError(thread)));
  return worst;
}

double SumClosureError(const Profile& profile) {
  double elapsed = 0;
  double error = 0;  // in ns; the difference of two large sums would lose it
  for (const auto& thread : profile.threads) {
    if (thread.clock_missing || thread.end_ns <= thread.begin_ns) continue;
    const auto own = static_cast<double>(thread.end_ns - thread.begin_ns);
    elapsed += own;
    error += ClosureError(thread) * own;
  }
  return elapsed > 0 ? error / elapsed : 0;
}

}  // namespace profd::aggregate
