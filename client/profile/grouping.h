// Grouping: the group of a process, if a table is grouped by something else than processes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

enum class GroupKey {
  kProcess,
  kThread,
  kComm,
  kUnit,
  kContainer,
  kUser,
  kCgroup,
  kService,
  kPod,
  kNamespace,
  kHost
};

// "process", "thread", "comm", "unit", "container", "user", "cgroup", "service", "pod",
// "namespace", "host". kInvalidArgument otherwise.
[[nodiscard]] Result<GroupKey> ParseGroupKey(std::string_view text);
[[nodiscard]] std::string_view NameOf(GroupKey key);

// What a thread of the profile belongs to: "nginx.service", or "[no unit]". Not made safe.
[[nodiscard]] std::string GroupOf(const v1::Profile& profile, const v1::Thread& thread,
                                  GroupKey key);

// The same samples and threads, with a process of the group's name, and without a number, in the
// place of the processes of each group; by process it is the same profile. The profile must have
// passed CheckProfile.
[[nodiscard]] v1::Profile GroupBy(const v1::Profile& profile, GroupKey key);

}  // namespace profd::client
