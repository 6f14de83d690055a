#include "daemon/store/api/path_access.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "daemon/aggregate/stable_hash.h"

namespace profd::store {

using aggregate::PathKind;
using aggregate::PathNode;
using aggregate::PathThread;
using aggregate::Profile;

bool MaySeeOnPaths(const Filter& filter, const aggregate::ProfileProcess& process) {
  const auto& owner = process.owner;
  return !filter.exclusive_owner || (owner.sole && owner.uid == filter.exclusive_owner);
}

std::vector<bool> HiddenPathThreads(const Profile& profile, const Filter& filter) {
  std::vector<bool> hidden(profile.path_threads.size(), false);
  if (!filter.exclusive_owner) return hidden;
  std::unordered_map<ProcessKey, bool> seen;
  for (const auto& process : profile.processes) seen[process.key] = MaySeeOnPaths(filter, process);
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    const auto process = seen.find(profile.path_threads[i].process);
    hidden[i] = process == seen.end() || !process->second;
  }
  return hidden;
}

std::vector<bool> UsedPathThreads(const Profile& profile) {
  std::vector<bool> used(profile.path_threads.size(), false);
  const auto use = [&used](std::size_t thread) {
    if (thread < used.size()) used[thread] = true;
  };
  std::vector<bool> walked(profile.paths.size(), false);
  for (const auto& sample : profile.samples)
    for (std::uint32_t at = sample.path; at != 0 && at < walked.size() && !walked[at];
         at = profile.paths[at].parent) {
      walked[at] = true;
      if (const std::uint32_t thread = profile.paths[at].thread; thread != 0) use(thread - 1);
    }
  for (const auto& count : profile.wake_ups) use(count.waker);
  return used;
}

void HidePathThreads(const std::vector<bool>& hidden, Profile& profile) {
  if (std::ranges::none_of(hidden, [](bool one) { return one; })) return;
  const auto is_hidden = [&hidden](std::uint32_t thread) {
    return thread < hidden.size() && hidden[thread];
  };
  // The node that a path has now. Parents come before their children.
  std::vector<std::uint32_t> now(profile.paths.size(), 0);
  for (std::uint32_t i = 1; i < now.size(); ++i) {
    PathNode& path = profile.paths[i];
    const std::uint32_t parent = path.parent < i ? now[path.parent] : 0;
    if (profile.paths[parent].kind == PathKind::kOtherUser) {
      now[i] = parent;
      path = {.parent = parent, .kind = PathKind::kOtherUser};
      continue;
    }
    now[i] = i;
    if (path.thread != 0 && is_hidden(path.thread - 1))
      path = {.parent = parent, .kind = PathKind::kOtherUser};
  }
  for (auto& sample : profile.samples)
    sample.path = sample.path < now.size() ? now[sample.path] : 0;
  std::erase_if(profile.wake_ups, [&](const auto& count) { return is_hidden(count.waker); });
  for (std::size_t i = 0; i < hidden.size() && i < profile.path_threads.size(); ++i)
    if (hidden[i]) profile.path_threads[i] = {};
}

PathThread NamedPathThread(const std::string& comm, const std::string& process_comm) {
  PathThread thread{.key = {}, .process = {}, .comm = comm, .process_comm = process_comm};
  const Hash128 hash = StableHash(process_comm, comm);
  std::memcpy(&thread.key.start_ns, hash.data(), sizeof(thread.key.start_ns));
  thread.key.start_ns >>= 1;
  return thread;
}

}  // namespace profd::store
