// Parts of a profile: of some threads, with the GIL held, without frames of interpreters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/base/result.h"

namespace profd::v1 {
class Profile;
}  // namespace profd::v1

namespace profd::client {

// All that are given must hold; none: every thread.
struct ThreadFilter {
  std::optional<std::uint32_t> pid;
  std::optional<std::uint32_t> tid;
  // Of "comm", "exe", "cgroup", "container", "unit", "user", "host" of the process, or "thread":
  // its value.
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

// What a filter has left of a profile, with the threads and processes that have samples of it:
// `filter` says so. The exact clocks, and what else is not of samples, are of all time and left
// out. The profile must have passed CheckProfile before it was filtered.
[[nodiscard]] v1::Profile WhatFits(const v1::Profile& left, const std::string& filter);

// The profile's time with the GIL held, running or not, and nothing else: `only_gil` is set, and a
// note says how many samples were left out because that is unknown. Clocks stay as they are. A
// profile that is restricted already stays as it is. kNotFound, with a reason: there is no such
// time. Errors of CheckProfile.
[[nodiscard]] Result<v1::Profile> OnlyGil(const v1::Profile& profile);

// The profile without the frames of interpreters themselves, which say little beside the frames of
// what they run: what was above such a frame stands on what was below it. Nothing when
// there are none. `profile` may come from a file: one that CheckProfile would refuse is nothing to
// change.
[[nodiscard]] std::optional<v1::Profile> WithoutInterpreterFrames(const v1::Profile& profile);

}  // namespace profd::client
