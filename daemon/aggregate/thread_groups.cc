#include "daemon/aggregate/thread_groups.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "daemon/aggregate/process_labels.h"
#include "daemon/aggregate/stable_hash.h"

namespace profd::aggregate {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

// No process and no thread has number 0.
template <typename... Values>
std::uint64_t HashOf(const Values&... values) {
  const Hash128 hash = StableHash(values...);
  std::uint64_t start = 0;
  std::memcpy(&start, hash.data(), sizeof(start));
  return start >> 1;  // SQLite has signed integers only
}

ProcessKey GroupKey(const ProfileProcess& process) {
  // Of root's it decides nothing, and it is not known of a program that ended soon.
  const bool sole = process.owner.sole && process.owner.uid.value_or(0) != 0;
  const auto* python = process.interpreter.get();
  return {0, HashOf(process.comm, process.executable, process.parent, process.unit,
                    process.container, process.cgroup, process.owner.uid.has_value(),
                    process.owner.uid.value_or(0), sole, process.owner.user, python != nullptr,
                    python != nullptr ? python->version : std::string(),
                    python != nullptr ? python->refused : std::string(), ServiceKey(process))};
}

ThreadKey GroupKey(const ProcessKey& process, const ProfileThread& thread) {
  return {0, HashOf(process.pid, process.start_ns, thread.comm)};
}

// Takes processes and threads out of the profile, and puts them back in groups. Used once.
class Grouping {
 public:
  Grouping(Profile& profile, const MayJoin& may_join) : profile_(profile), may_join_(may_join) {}

  Grouped Run() {
    auto processes = std::exchange(profile_.processes, {});
    auto threads = std::exchange(profile_.threads, {});
    ChooseProcesses(processes, threads);
    for (std::size_t i = 0; i < processes.size(); ++i) AddProcess(i, std::move(processes[i]));
    ChooseThreads(threads);
    const std::vector<ThreadKey> keys = KeysOf(threads);
    auto& thread_of = grouped_.thread_of;
    thread_of.reserve(threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i)
      thread_of.push_back(AddThread(i, std::move(threads[i])));
    std::erase_if(profile_.samples,
                  [&](const ProfileSample& sample) { return sample.thread >= thread_of.size(); });
    for (ProfileSample& sample : profile_.samples) sample.thread = thread_of[sample.thread];
    std::erase_if(profile_.wake_ups,
                  [&](const WakeUpCount& count) { return count.thread >= thread_of.size(); });
    for (WakeUpCount& count : profile_.wake_ups) count.thread = thread_of[count.thread];
    std::erase_if(profile_.steps.events,
                  [&](const StepEvent& event) { return event.thread >= thread_of.size(); });
    for (StepEvent& event : profile_.steps.events) event.thread = thread_of[event.thread];
    GroupSwitches(thread_of);
    RenamePathThreads(keys);
    return std::move(grouped_);
  }

 private:
  // Of a group it is not known which of its threads a switch is of.
  void GroupSwitches(const std::vector<std::uint32_t>& thread_of) {
    const auto is_left_out = [&](std::uint32_t thread) {
      return thread >= thread_of.size() || profile_.threads[thread_of[thread]].group_size != 0;
    };
    ThreadSwitches& all = profile_.switches;
    std::erase_if(all.switches, [&](const ThreadSwitch& one) { return is_left_out(one.thread); });
    for (ThreadSwitch& one : all.switches) one.thread = thread_of[one.thread];
    std::erase_if(all.incomplete, is_left_out);
    for (std::uint32_t& thread : all.incomplete) thread = thread_of[thread];
  }
  [[nodiscard]] bool IsShortLived(const ProfileThread& thread) const {
    if (thread.group_size != 0) return true;
    return may_join_ ? may_join_(thread) : thread.began && thread.exited;
  }

  // Of those that may be on paths.
  [[nodiscard]] std::vector<ThreadKey> KeysOf(const std::vector<ProfileThread>& threads) const {
    std::vector<ThreadKey> keys;
    if (profile_.path_threads.empty()) return keys;
    keys.reserve(threads.size());
    for (const ProfileThread& thread : threads) keys.push_back(thread.key);
    return keys;
  }

  // `keys`: of the threads before they were grouped.
  void RenamePathThreads(const std::vector<ThreadKey>& keys) {
    std::unordered_map<ThreadKey, std::uint32_t> row_of;
    for (std::size_t i = 0; i < keys.size(); ++i) row_of.emplace(keys[i], grouped_.thread_of[i]);
    for (PathThread& on_path : profile_.path_threads) {
      const auto row = row_of.find(on_path.key);
      if (row == row_of.end()) continue;
      const ProfileThread& thread = profile_.threads[row->second];
      if (thread.group_size == 0 || thread.process >= profile_.processes.size()) continue;
      on_path = DescribePathThread(thread, profile_.processes[thread.process]);
    }
  }

  void ChooseProcesses(const std::vector<ProfileProcess>& processes,
                       const std::vector<ProfileThread>& threads) {
    std::vector<bool> lasts(processes.size(), true);
    // Without a thread there is no time that could be grouped.
    for (const ProfileThread& thread : threads)
      if (thread.process < lasts.size())
        lasts[thread.process] =
            !processes[thread.process].exited && processes[thread.process].group_size == 0;
    for (const ProfileThread& thread : threads)
      if (thread.process < lasts.size() && !IsShortLived(thread)) lasts[thread.process] = true;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const ProfileProcess& process = processes[i];
      const bool is_group = process.group_size != 0;
      process_keys_.push_back(lasts[i] || is_group ? process.key : GroupKey(process));
      if (!lasts[i]) process_members_[process_keys_.back()] += is_group ? 2 : 1;
    }
  }

  void AddProcess(std::size_t index, ProfileProcess&& process) {
    const ProcessKey key = process_keys_[index];
    const auto members = process_members_.find(key);
    const auto next = static_cast<std::uint32_t>(profile_.processes.size());
    if (members == process_members_.end() || members->second < 2) {
      process_of_.push_back(next);
      profile_.processes.push_back(std::move(process));
      return;
    }
    const auto [group, added] = process_groups_.try_emplace(key, next);
    process_of_.push_back(group->second);
    if (added) {
      ProfileProcess first = process;
      first.key = key;
      first.shown_pid = 0;
      if (first.group_size == 0) first.group_size = 1;
      profile_.processes.push_back(std::move(first));
    } else {
      AddMember(process, profile_.processes[group->second]);
    }
    if (process.group_size == 0) grouped_.processes.push_back(std::move(process));
  }

  [[nodiscard]] std::uint32_t ProcessOf(const ProfileThread& thread) const {
    return thread.process < process_of_.size() ? process_of_[thread.process] : kNone;
  }

  // A process's first thread lasts as long as the process, unless it ends before the others.
  [[nodiscard]] bool Joins(const ProfileThread& thread, const ProfileProcess& process) const {
    if (process.group_size != 0 || thread.group_size != 0) return true;
    return IsShortLived(thread) && thread.key.tid != process.key.pid;
  }

  void ChooseThreads(const std::vector<ProfileThread>& threads) {
    for (const ProfileThread& thread : threads) {
      auto& key = thread_keys_.emplace_back();
      const std::uint32_t process = ProcessOf(thread);
      if (process == kNone || !Joins(thread, profile_.processes[process])) continue;
      key = GroupKey(profile_.processes[process].key, thread);
      const bool is_group = thread.group_size != 0 || profile_.processes[process].group_size != 0;
      thread_members_[*key] += is_group ? 2 : 1;
    }
  }

  std::uint32_t AddThread(std::size_t index, ProfileThread&& thread) {
    const std::uint32_t process = ProcessOf(thread);
    const auto next = static_cast<std::uint32_t>(profile_.threads.size());
    if (process != kNone) thread.process = process;
    const auto& key = thread_keys_[index];
    if (!key || thread_members_[*key] < 2) {
      profile_.threads.push_back(std::move(thread));
      return next;
    }
    const auto [group, added] = thread_groups_.try_emplace(*key, next);
    if (added) {
      ProfileThread first = thread;
      first.key = *key;
      first.shown_tid = 0;
      if (first.group_size == 0) {
        first.group_elapsed_ns = Elapsed(thread);
        first.group_size = 1;
      }
      profile_.threads.push_back(std::move(first));
    } else {
      AddMember(thread, profile_.threads[group->second]);
    }
    if (thread.group_size == 0) grouped_.threads.push_back(std::move(thread));
    return group->second;
  }

  Profile& profile_;
  const MayJoin& may_join_;
  Grouped grouped_;
  std::vector<ProcessKey> process_keys_;
  std::vector<std::optional<ThreadKey>> thread_keys_;  // of a group; nothing: it joins none
  std::vector<std::uint32_t> process_of_;              // old index -> new index
  std::unordered_map<ProcessKey, std::size_t> process_members_;
  std::unordered_map<ThreadKey, std::size_t> thread_members_;
  std::unordered_map<ProcessKey, std::uint32_t> process_groups_;  // index into the new ones
  std::unordered_map<ThreadKey, std::uint32_t> thread_groups_;
};

}  // namespace

Grouped GroupShortLived(Profile& profile, const MayJoin& may_join) {
  return Grouping(profile, may_join).Run();
}

void AddMember(const ProfileProcess& member, ProfileProcess& group) {
  group.group_size += std::max(member.group_size, 1u);
  if (group.command_line != member.command_line) group.command_line.clear();
  if (group.build_id.empty()) group.build_id = member.build_id;
  KeepShared(member.labels, group.labels);
  group.exited = group.exited && member.exited;
  group.owner.sole = group.owner.sole && member.owner.sole;
  group.cpu_limits.reset();
  if (group.concurrency && member.concurrency)
    *group.concurrency += *member.concurrency;
  else
    group.concurrency.reset();
}

void AddMember(const ProfileThread& member, ProfileThread& group) {
  group.begin_ns = std::min(group.begin_ns, member.begin_ns);
  group.end_ns = std::max(group.end_ns, member.end_ns);
  group.group_size += std::max(member.group_size, 1u);
  group.group_elapsed_ns += Elapsed(member);
  AddClock(member.clock, group.clock);
  group.clock_missing = group.clock_missing || member.clock_missing;
  if (group.migrations && member.migrations) {
    group.migrations->core += member.migrations->core;
    group.migrations->cache += member.migrations->cache;
    group.migrations->node += member.migrations->node;
  } else {
    group.migrations.reset();
  }
  if (group.counts && member.counts)
    AddCounts(*member.counts, *group.counts);
  else
    group.counts.reset();
  std::vector<std::uint16_t> cpus;
  std::ranges::set_union(group.cpus, member.cpus, std::back_inserter(cpus));
  group.cpus = std::move(cpus);
}

}  // namespace profd::aggregate
