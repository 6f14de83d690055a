// ServiceHosts: which hosts of a fleet run a service now.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/fleet/fleet_database.h"
#include "client/fleet/fleet_question.h"
#include "client/fleet/service_table.h"
#include "daemon/base/result.h"

namespace profd::client {

// How far back hosts are looked for.
inline constexpr std::uint64_t kHostsSinceS = 3'600;

struct SilentHost {
  std::string host;
  double silent_s = 0;  // since the end of its last window of the service
};

struct ServiceHosts {
  std::vector<std::string> hosts;  // that have sent a window of it lately; by name
  std::vector<SilentHost> silent;  // that have not, but did before: the longest silent first
};

// A host is silent when its next window is late (kLateSeconds). `rows` are of hosts: their only key
// is the name.
[[nodiscard]] ServiceHosts ChooseHosts(const std::vector<ServiceRow>& rows, double window_s,
                                       std::uint64_t now_s);

// Of the last kHostsSinceS, whatever the times of the question are. kNotFound: no host ran it; the
// hint says what there is. Other errors as FleetDatabase::Select.
[[nodiscard]] Result<ServiceHosts> AskServiceHosts(FleetQuestion question, std::uint64_t now_s,
                                                   FleetDatabase& database);

}  // namespace profd::client
