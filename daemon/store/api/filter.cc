#include "daemon/store/api/filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "daemon/aggregate/process_labels.h"
#include "daemon/base/files.h"
#include "daemon/store/api/path_access.h"

namespace profd::store {
namespace {

constexpr std::uint32_t kNone = UINT32_MAX;

bool AnyMatches(const std::vector<std::string>& patterns, std::string_view text) {
  return patterns.empty() ||
         std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesGlob(pattern, text); });
}

bool MatchesContainer(const Filter& filter, const aggregate::ProfileProcess& process) {
  return AnyMatches(filter.containers, process.container) ||
         std::any_of(filter.containers.begin(), filter.containers.end(),
                     [&](const std::string& id) {
                       return !id.empty() && process.container.starts_with(id);
                     });
}

bool MatchesUnit(const Filter& filter, const aggregate::ProfileProcess& process) {
  constexpr std::string_view kService = ".service";
  std::string_view name = process.unit;
  if (name.ends_with(kService)) name.remove_suffix(kService.size());
  return AnyMatches(filter.units, process.unit) || AnyMatches(filter.units, name);
}

bool HasLabels(const Filter& filter, const aggregate::ProfileProcess& process) {
  return filter.labels.empty() ||
         MatchesLabels(filter.labels, aggregate::ProcessLabels(process, filter.host));
}

bool MatchesUser(const Filter& filter, const aggregate::ProfileProcess& process) {
  const auto& owner = process.owner;
  if (filter.exclusive_owner && !(owner.sole && owner.uid == filter.exclusive_owner)) return false;
  if (filter.users.empty()) return true;
  if (!owner.uid) return false;  // profd does not know the owner
  return AnyMatches(filter.users, std::to_string(*owner.uid)) ||
         (!owner.user.empty() && AnyMatches(filter.users, owner.user));
}

}  // namespace

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  std::string escaped;
  for (const char c : pattern) {
    if (c == '[' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return fnmatch(escaped.c_str(), std::string(text).c_str(), 0) == 0;
}

Result<std::vector<Filter::Label>> ParseLabels(std::span<const std::string> texts) {
  constexpr std::size_t kShown = 64;
  std::vector<Filter::Label> labels;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return Error{ErrorCode::kInvalidArgument,
                   "the label '" + text.substr(0, kShown) + "' is no NAME=VALUE", ""};
    const std::string name = text.substr(0, equals);
    auto known = std::ranges::find(labels, name, &Filter::Label::name);
    if (known == labels.end()) known = labels.insert(known, {name, {}});
    known->values.push_back(text.substr(equals + 1));
  }
  return labels;
}

bool MatchesLabels(std::span<const Filter::Label> wanted,
                   const std::map<std::string, std::string>& labels) {
  return std::ranges::all_of(wanted, [&labels](const Filter::Label& one) {
    const auto label = labels.find(one.name);
    return AnyMatches(one.values, label == labels.end() ? std::string_view() : label->second);
  });
}

bool Matches(const Filter& filter, const aggregate::ProfileProcess& process) {
  const auto& pids = filter.pids;
  const bool pid = pids.empty() || std::any_of(pids.begin(), pids.end(), [&](std::uint32_t wanted) {
                     return wanted == process.shown_pid || wanted == process.key.pid;
                   });
  return pid && AnyMatches(filter.comms, process.comm) &&
         (AnyMatches(filter.executables, process.executable) ||
          AnyMatches(filter.executables, BaseName(process.executable))) &&
         AnyMatches(filter.cgroups, process.cgroup) && MatchesContainer(filter, process) &&
         MatchesUnit(filter, process) && MatchesUser(filter, process) && HasLabels(filter, process);
}

bool Matches(const Filter& filter, const aggregate::ProfileThread& thread) {
  return AnyMatches(filter.threads, thread.comm) ||
         AnyMatches(filter.threads, std::to_string(thread.shown_tid)) ||
         AnyMatches(filter.threads, std::to_string(thread.key.tid));
}

bool Matches(const Filter& filter, const aggregate::ProfileSample& sample) {
  return (!filter.state || *filter.state == sample.state) &&
         (!filter.wait || *filter.wait == sample.wait);
}

void HideOthers(const Filter& filter, std::vector<NamedCount>& counters) {
  // ProfileBuilder writes them with the number and the name of a process or a user.
  constexpr std::array<std::string_view, 3> kOfProcesses = {"beyond_share", "python_refused",
                                                            "labels_unread"};
  if (!filter.exclusive_owner) return;
  std::erase_if(counters, [&](const NamedCount& count) {
    return std::ranges::find(kOfProcesses, count.name) != kOfProcesses.end();
  });
}

aggregate::Profile Select(const aggregate::Profile& profile, const Filter& filter) {
  aggregate::Profile selected;
  selected.target = profile.target;
  selected.start_ns = profile.start_ns;
  selected.end_ns = profile.end_ns;
  selected.start_unix_ns = profile.start_unix_ns;
  selected.on_cpu = profile.on_cpu;
  selected.off_cpu = profile.off_cpu;
  selected.on_cpu_period_ns = profile.on_cpu_period_ns;
  selected.off_cpu_period_ns = profile.off_cpu_period_ns;
  selected.periods = profile.periods;
  selected.host = profile.host;
  selected.kernel = profile.kernel;
  selected.hook = profile.hook;
  selected.profd_version = profile.profd_version;
  selected.lost = profile.lost;
  selected.dropped = profile.dropped;
  selected.counters = profile.counters;
  HideOthers(filter, selected.counters);
  selected.cost = profile.cost;

  std::vector<std::uint32_t> process_of(profile.processes.size(), kNone);
  std::vector<bool> wanted;
  wanted.reserve(profile.processes.size());
  for (const auto& process : profile.processes) wanted.push_back(Matches(filter, process));
  std::vector<std::uint32_t> thread_of(profile.threads.size(), kNone);
  for (std::size_t i = 0; i < profile.threads.size(); ++i) {
    const auto& thread = profile.threads[i];
    if (thread.process >= wanted.size() || !wanted[thread.process]) continue;
    if (!Matches(filter, thread)) continue;
    auto& process = process_of[thread.process];
    if (process == kNone) {
      process = static_cast<std::uint32_t>(selected.processes.size());
      selected.processes.push_back(profile.processes[thread.process]);
    }
    thread_of[i] = static_cast<std::uint32_t>(selected.threads.size());
    selected.threads.push_back(thread);
    selected.threads.back().process = process;
  }
  for (const auto& sample : profile.samples) {
    if (sample.thread >= thread_of.size() || thread_of[sample.thread] == kNone) continue;
    if (!Matches(filter, sample)) continue;
    selected.samples.push_back(sample);
    selected.samples.back().thread = thread_of[sample.thread];
  }
  selected.wakers = profile.wakers;
  selected.paths = profile.paths;
  selected.path_threads = profile.path_threads;
  for (aggregate::WakeUpCount count : profile.wake_ups) {
    if (count.thread >= thread_of.size() || thread_of[count.thread] == kNone) continue;
    count.thread = thread_of[count.thread];
    selected.wake_ups.push_back(count);
  }
  HidePathThreads(HiddenPathThreads(profile, filter), selected);
  return selected;
}

}  // namespace profd::store
