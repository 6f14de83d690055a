// Groups of short-lived threads and processes: one row for all that are alike.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "daemon/aggregate/profile.h"

namespace profd::aggregate {

// The processes and threads that are now part of a group, as they were.
struct Grouped {
  std::vector<ProfileProcess> processes;
  std::vector<ProfileThread> threads;
  std::vector<std::uint32_t> thread_of;  // old index of a thread -> its index now
};

// Makes one process of all that ended in the profile, whose threads may join, and that share name,
// program, parent's name, unit, container, cgroup, owner, interpreter, and the name, namespace and
// version of the service; of their threads one for each name. Makes one thread of all that may
// join, within one process, and share their name. Two are enough for a group; groups that the
// profile has already get more members. Clocks, lifetimes and samples are kept: clocks and
// lifetimes as sums. What the members do not share is empty. Paths and wake-ups name the groups.
// `may_join`: which threads; null: those that began and ended in the profile.
using MayJoin = std::function<bool(const ProfileThread&)>;
[[nodiscard]] Grouped GroupShortLived(Profile& profile, const MayJoin& may_join = nullptr);

// Adds a process or thread, or a group of the same key, to a group. Does not change
// `group.process`.
void AddMember(const ProfileProcess& member, ProfileProcess& group);
void AddMember(const ProfileThread& member, ProfileThread& group);

}  // namespace profd::aggregate
