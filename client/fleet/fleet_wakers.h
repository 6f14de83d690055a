// FleetWakers: which hosts of a fleet know who ends waits.
#pragma once

#include <cstdint>
#include <string>

#include "client/fleet/fleet_database.h"
#include "client/fleet/fleet_question.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct FleetWakers {
  std::uint64_t hosts = 0;    // with blocked time of the question
  std::uint64_t knowing = 0;  // of these: whose history knows who ends waits
};

// Of tables before version 3, and of a fleet in snapshot mode: no host knows. Errors as
// FleetDatabase::Select.
[[nodiscard]] Result<FleetWakers> AskWakers(const FleetQuestion& question, FleetDatabase& database);

// "of 81.0 % of the blocked time the waker is known: 3 of 8 hosts keep wakers". "": there is no
// blocked time, or no host knows. The profile has passed CheckProfile.
[[nodiscard]] std::string WakersLine(const FleetWakers& wakers, const v1::Profile& profile);

}  // namespace profd::client
