// FleetGrants: the statements that give agents and readers just their rights.
#pragma once

#include <string>

#include "client/fleet/schema/fleet_schema.h"

namespace profd::client {

struct GrantPlan {
  FleetPlace place;
  std::string agent;   // a user that may insert; "": none
  std::string reader;  // a user that may select; "": none
};

// SQL for an administrator. The passwords are to be filled in: profctl knows none.
[[nodiscard]] std::string GrantText(const GrantPlan& plan);

}  // namespace profd::client
