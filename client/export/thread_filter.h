// ThreadFilter: a part of a profile, by the threads that are in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// All that are given must hold; none: every thread.
struct ThreadFilter {
  std::optional<std::uint32_t> pid;
  std::optional<std::uint32_t> tid;
  std::string comm;    // of the process
  std::string thread;  // of the thread

  // "pid=12", "comm=redis-server,thread=bio_aof": names are compared as they are.
  [[nodiscard]] static Result<ThreadFilter> Parse(std::string_view text);
  [[nodiscard]] bool empty() const { return !pid && !tid && comm.empty() && thread.empty(); }
};

// The profile with samples, threads and processes of those only. It must have passed CheckProfile.
// kNotFound when no thread is left.
[[nodiscard]] Result<v1::Profile> OnlyThreads(const v1::Profile& profile,
                                              const ThreadFilter& filter);

}  // namespace profd::client
