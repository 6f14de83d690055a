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
  process.parent = info->parent;
  process.command_line = info->command_line;
  process.cgroup = info->cgroup;
  process.container = process::ContainerOf(info->cgroup);
  process.unit = process::UnitOf(info->cgroup);
  process.owner = info->owner;
  process.executable = info->executable;
  return process;
}

PathThread DescribePathThread(const ProfileThread& thread, const ProfileProcess& process) {
  PathThread described{.key = thread.key,
                       .process = process.key,
                       .comm = thread.comm.empty() ? process.comm : thread.comm,
                       .process_comm = process.comm,
                       .shown_tid = thread.shown_tid,
                       .shown_pid = process.shown_pid};
  if (described.process_comm.empty()) described.process_comm = described.comm;
  return described;
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

std::uint64_t StolenClock(const profd_clock& clock) {
  return clock.stolen_ns[PROFD_STOLEN_EXACT] + clock.stolen_ns[PROFD_STOLEN_SPREAD];
}

std::uint64_t ClockTotal(const profd_clock& clock) {
  return StateClock(clock, process::State::kOnCpu) + StateClock(clock, process::State::kRunnable) +
         StateClock(clock, process::State::kBlocked) + StolenClock(clock);
}

void AddClock(const profd_clock& part, profd_clock& sum) {
  sum.on_cpu_ns += part.on_cpu_ns;
  sum.on_cpu_count += part.on_cpu_count;
  sum.migrations += part.migrations;
  for (std::size_t i = 0; i < PROFD_RUNNABLE_MAX; ++i) {
    sum.runnable_ns[i] += part.runnable_ns[i];
    sum.runnable_count[i] += part.runnable_count[i];
  }
  for (std::size_t i = 0; i < PROFD_BLOCKED_MAX; ++i) {
    sum.blocked_ns[i] += part.blocked_ns[i];
    sum.blocked_count[i] += part.blocked_count[i];
  }
  for (std::size_t i = 0; i < PROFD_STOLEN_MAX; ++i) sum.stolen_ns[i] += part.stolen_ns[i];
}

std::uint64_t Elapsed(const ProfileThread& thread) {
  if (thread.group_size != 0) return thread.group_elapsed_ns;
  return thread.end_ns > thread.begin_ns ? thread.end_ns - thread.begin_ns : 0;
}

double ClosureError(const ProfileThread& thread) {
  // A missing clock is reported by its own flag; an error of -100 % would hide all real errors.
  if (thread.clock_missing || Elapsed(thread) == 0) return 0;
  const auto elapsed = static_cast<double>(Elapsed(thread));
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
    if (thread.clock_missing) continue;
    const auto own = static_cast<double>(Elapsed(thread));
    elapsed += own;
    error += ClosureError(thread) * own;
  }
  return elapsed > 0 ? error / elapsed : 0;
}

}  // namespace profd::aggregate
