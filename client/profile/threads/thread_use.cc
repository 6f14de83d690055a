#include "client/profile/threads/thread_use.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "client/profile/profile_facts.h"
#include "client/text/number.h"

namespace profd::client {
namespace {

void AddBlocked(const BlockedTime& blocked, std::vector<BlockedTime>& to) {
  const auto known = std::ranges::find(to, blocked.reason, &BlockedTime::reason);
  if (known == to.end())
    to.push_back(blocked);
  else
    known->time += blocked.time;
}

void SortByTime(std::vector<BlockedTime>& waits) {
  std::ranges::stable_sort(waits, std::greater<>{},
                           [](const BlockedTime& blocked) { return blocked.time.ns; });
}

ThreadUse ByClock(const v1::Thread& thread) {
  const v1::ThreadClock& clock = thread.clock();
  ThreadUse use;
  use.threads = MembersOf(thread);
  use.elapsed_ns = LengthNs(thread);
  use.woken_ns = clock.runnable_after_wakeup_ns();
  use.preempted_ns = clock.runnable_after_preemption_ns() + clock.runnable_after_yield_ns();
  use.voluntary = clock.blocked_interruptible_count() + clock.blocked_uninterruptible_count() +
                  clock.blocked_iowait_count();
  use.involuntary = clock.runnable_after_preemption_count() + clock.runnable_after_yield_count();
  use.migrations = clock.migrations();
  use.cpus.assign(thread.cpus().begin(), thread.cpus().end());
  std::ranges::sort(use.cpus);
  use.counts = CountsOf(thread);
  return use;
}

}  // namespace

std::uint64_t ThreadUse::running_ns() const {
  return time[TimePart::kWorking].ns + time[TimePart::kSpinning].ns;
}

std::uint64_t ThreadUse::wanted_ns() const { return running_ns() + time[TimePart::kRunnable].ns; }

void ThreadUse::operator+=(const ThreadUse& other) {
  AddPlacement(other);
  threads += other.threads;
  elapsed_ns += other.elapsed_ns;
  time += other.time;
  woken_ns += other.woken_ns;
  preempted_ns += other.preempted_ns;
  spin += other.spin;
  for (const BlockedTime& blocked : other.waits) AddBlocked(blocked, waits);
  SortByTime(waits);
  voluntary += other.voluntary;
  involuntary += other.involuntary;
  migrations += other.migrations;
  counts += other.counts;
  std::vector<std::uint32_t> both;
  std::ranges::set_union(cpus, other.cpus, std::back_inserter(both));
  cpus = std::move(both);
}

void ThreadUse::AddPlacement(const ThreadUse& other) {
  placement.AddSamples(other.placement);
  const auto& added = other.placement.moves;
  if (threads == 0 || !added) {
    placement.moves = added;
  } else if (placement.moves) {
    placement.moves->core += added->core;
    placement.moves->cache += added->cache;
    placement.moves->node += added->node;
  }
}

std::vector<ThreadUse> UseOfThreads(const v1::Profile& profile) {
  std::vector<ThreadUse> uses;
  uses.reserve(static_cast<std::size_t>(profile.threads_size()));
  for (const v1::Thread& thread : profile.threads()) uses.push_back(ByClock(thread));
  const v1::Samples& samples = profile.samples();
  for (int i = 0; i < samples.weight_ns_size(); ++i) {
    ThreadUse& use = uses[samples.thread(i)];
    use.time.Add(profile, i);
    if (samples.state(i) != v1::STATE_BLOCKED) continue;
    const std::uint64_t ns = samples.weight_ns(i);
    // A reason that a newer profd may know is counted with the unknown ones.
    const v1::WaitReason reason =
        v1::WaitReason_IsValid(samples.wait(i)) ? samples.wait(i) : v1::WAIT_OTHER;
    AddBlocked({reason, {ns, samples.count(i), samples.exact(i) ? ns : 0}}, use.waits);
  }
  for (ThreadUse& use : uses) SortByTime(use.waits);
  const std::vector<SpinCause> causes = SpinCausesOf(profile);
  std::vector<Placement> placements = PlacementsOf(profile);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    uses[i].spin = causes[i];
    uses[i].placement = std::move(placements[i]);
  }
  return uses;
}

std::vector<ThreadUse> UseOfProcesses(const v1::Profile& profile,
                                      const std::vector<ThreadUse>& threads) {
  std::vector<ThreadUse> uses(static_cast<std::size_t>(profile.processes_size()));
  for (std::size_t i = 0; i < threads.size(); ++i)
    uses[profile.threads(static_cast<int>(i)).process()] += threads[i];
  return uses;
}

UsableCpus UsableBy(const v1::Profile& profile, const v1::Process& process) {
  UsableCpus usable;
  if (process.group_size() != 0 || profile.cpus() == 0) return usable;
  usable = {static_cast<double>(profile.cpus()), UsableCpus::By::kHost};
  const v1::CpuLimits& limits = process.cpu_limits();
  // An affinity may name CPUs that are offline.
  if (limits.allowed_cpus() != 0 && limits.allowed_cpus() < profile.cpus())
    usable = {static_cast<double>(limits.allowed_cpus()), UsableCpus::By::kAffinity};
  if (limits.quota_cpus() > 0 && limits.quota_cpus() < usable.cpus)
    usable = {limits.quota_cpus(), UsableCpus::By::kQuota};
  return usable;
}

double EffectiveUse(const ThreadUse& process, const UsableCpus& usable, std::uint64_t length_ns) {
  if (!(usable.cpus > 0)) return 0;
  return ShareOf(process.time[TimePart::kWorking].ns, length_ns) / usable.cpus;
}

}  // namespace profd::client
