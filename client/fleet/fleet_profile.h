// FleetProfile: a profile of many hosts, made of sums.
#pragma once

#include <string>
#include <vector>

#include "client/fleet/coverage.h"
#include "client/fleet/fleet_question.h"
#include "client/fleet/fleet_rows.h"
#include "profd/v1/profile.pb.h"

namespace profd::client {

// A process of it is what is distinguished: a version on all its hosts, or one host. It has the
// number of its hosts as group_size, and what it is in `labels`. A thread stands for all threads of
// one name; its clock is the sum of its rows, so its states add up to its elapsed time, and its
// group_size is how many of them lived on average. Stolen time and what spins are as in answers of
// a profd: a sample of "[stolen]", and a rule of CLASS_SPIN, in the place of those by which hosts
// have decided. Where any row has a path, the profile knows who ends waits; blocked samples of
// hosts that do not know it have a wake-up that was not seen. How often threads wake each other is
// not known. Rows are sorted, so that equal answers make equal profiles. It passes CheckProfile.
[[nodiscard]] v1::Profile ProfileOf(const FleetQuestion& question, std::vector<FleetRow> rows,
                                    const FleetStacks& stacks, const std::vector<FleetPart>& parts,
                                    const Coverage& coverage, const FleetPaths& paths = {});

// Of a profile of host groups: its length becomes the time of all its hosts together, so that two
// of them are compared as if they had equally many hosts.
void MeasureByHostTime(v1::Profile& profile);

// What a row of the stack "(other)" is, of hosts and of ours.
inline constexpr std::string_view kOtherStack = "(other)";
// Names of its counters: time in kOtherStack, stacks that are kMissingStack, and paths of rows that
// hosts have not delivered.
inline constexpr std::string_view kRestNs = "fleet_rest_ns";
inline constexpr std::string_view kStacksMissing = "fleet_stacks_missing";
inline constexpr std::string_view kPathsMissing = "fleet_paths_missing";
// The stack of a row, where hosts have not delivered it.
inline constexpr std::string_view kMissingStack = "[stack not delivered]";

}  // namespace profd::client
