// ThreadFilter: a part of a profile, by the threads that are in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// All that are given must hold; none: every thread.
struct ThreadFilter {
  std::optional<std::uint32_t> pid;
  std::optional<std::uint32_t> tid;
  // Of "comm", "exe", "cgroup", "container", "unit", "user" of the process, or "thread": its value.
  std::vector<std::pair<std::string, std::string>> texts;

  // "pid=12", "unit=nginx,thread=bio_aof": names are compared as they are. An exe may be a path or
  // its last part, a unit stand without ".service", a user be a uid.
  [[nodiscard]] static Result<ThreadFilter> Parse(std::string_view text);
  [[nodiscard]] bool empty() const { return !pid && !tid && texts.empty(); }
};

// The profile with samples, threads and processes of those only. It must have passed CheckProfile.
// kNotFound when no thread is left.
[[nodiscard]] Result<v1::Profile> OnlyThreads(const v1::Profile& profile,
                                              const ThreadFilter& filter);

}  // namespace profd::client
