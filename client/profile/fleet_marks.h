// FleetMarks: how a profile of many hosts is known from one of a host.
#pragma once

#include <string_view>

namespace profd::client {

// Profile.hook of it. What it cost the hosts is not known.
inline constexpr std::string_view kFleetHook = "none: the history of many hosts";

// Counters of it with this name have a line of text each: what a person must know of hosts that
// have not delivered. Their count says nothing.
inline constexpr std::string_view kFleetWords = "fleet_words";

// Labels of processes where hosts are distinguished as groups: the number of the group, below
// ErrorSum::kParts, and for how long its hosts were watched, in ns, all together.
inline constexpr std::string_view kHostGroupLabel = "profd.host_group";
inline constexpr std::string_view kHostTimeLabel = "profd.host_time_ns";

}  // namespace profd::client
