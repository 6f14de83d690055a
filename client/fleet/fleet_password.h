// FleetPassword: the password of a user of a fleet's store.
#pragma once

#include <string>

#include "daemon/base/result.h"

namespace profd::client {

// The first line of `file`, which may be a pipe; without a file PROFD_FLEET_PASSWORD; "": none. It
// has only characters that a header of HTTP can carry.
[[nodiscard]] Result<std::string> FleetPassword(const std::string& file);

}  // namespace profd::client
