// HostNames: which host a process is of, in a profile of several.
#pragma once

#include <string>
#include <string_view>

#include "profd/v1/profile.pb.h"

namespace profd::client {

// The label of a process that says its host.
inline constexpr std::string_view kHostLabel = "host.name";

// The host of a process, of a profile of several; "": that of the profile. Not made safe.
[[nodiscard]] std::string_view HostOf(const v1::Process& process);
// "web1", of any profile. Safe.
[[nodiscard]] std::string HostName(const v1::Profile& profile, const v1::Process& process);
// " on web1", of a profile of several hosts; else "". Safe.
[[nodiscard]] std::string OnHost(const v1::Process& process);

}  // namespace profd::client
