// StolenSamples: what was stolen from threads, as parts of a profile that is shown by its samples.
#pragma once

#include <string_view>
#include <vector>

#include "daemon/aggregate/profile.h"

namespace profd::server {

inline constexpr std::string_view kStolen = "[stolen]";

// One pseudo-sample on the CPU for each thread from which time was stolen, in order of time, whose
// node is `node`: with them the samples of a thread add up to its clock. They follow from the
// clocks, so no profile keeps them. None without on-CPU samples.
[[nodiscard]] std::vector<aggregate::ProfileSample> StolenSamples(const aggregate::Profile& profile,
                                                                  std::uint32_t node);

}  // namespace profd::server
