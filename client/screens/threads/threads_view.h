// How well threads use CPUs, for people.
#pragma once

#include <cstddef>
#include <string>

#include "client/text/palette.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct ThreadsOptions {
  std::size_t width = 80;  // columns
  Palette palette{};
  bool complete = false;  // all processes, threads and numbers of threads
  bool counters = false;  // the user wants what hardware counters have counted
};

// Of each of the processes that want CPUs most: threads on average by what they do, which add up;
// the use of the CPUs that it may use; how many threads ran at once; what to change. Then all
// threads: shares of their time, switches and CPUs. The profile has passed CheckProfile.
[[nodiscard]] std::string RenderThreads(const v1::Profile& profile, const ThreadsOptions& options);

}  // namespace profd::client
