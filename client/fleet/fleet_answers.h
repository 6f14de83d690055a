// FleetAnswers: profiles of a fleet, in a few statements each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/fleet/coverage.h"
#include "client/fleet/fleet_database.h"
#include "client/fleet/fleet_question.h"
#include "daemon/base/result.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

struct FleetAnswer {
  v1::Profile profile;  // has passed CheckProfile
  Coverage coverage;
  std::string wakers;  // WakersLine; a page has it as one of kFleetWords
};

// Of what a fleet did, and on whom its threads wait, where hosts know it. The sums of the profile
// are those of the tables: stacks beyond `most_stacks` are in a stack "(other)". kNotFound: there
// is nothing; the hint says what there is. Other errors as FleetDatabase::Select.
[[nodiscard]] Result<FleetAnswer> AskFleet(const FleetQuestion& question, std::uint64_t now_s,
                                           FleetDatabase& database,
                                           std::size_t most_stacks = 50'000);

// Of all of the question's hosts.
[[nodiscard]] Result<Coverage> AskCoverage(const FleetQuestion& question, std::uint64_t now_s,
                                           FleetDatabase& database);

// Why there is nothing of it: no such service, with names like it, or nothing in this time.
[[nodiscard]] Error NothingOf(const FleetQuestion& question, FleetDatabase& database);

}  // namespace profd::client
