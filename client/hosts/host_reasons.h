// HostReasons: why hosts are missing in a profile, each reason once.
#pragma once

#include <string>
#include <vector>

#include "client/hosts/hosts_collection.h"
#include "daemon/base/result.h"

namespace profd::client {

// An error a reason, with all of its hosts, the reason with the most hosts first: "2 of 20 hosts:
// cannot be reached: connection refused: web1, web7".
[[nodiscard]] std::vector<Error> HostReasons(const std::vector<HostFailure>& failures,
                                             std::size_t hosts);

}  // namespace profd::client
