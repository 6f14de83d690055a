// FleetReports: what list, top, report --outliers and waits show of a fleet.
#pragma once

#include <cstddef>

#include "client/cli/fleet_options.h"
#include "client/cli/output_options.h"
#include "client/commands/common/context.h"

namespace profd::client {

// Each asks, writes to standard output or the files that are named, and returns the exit code.

struct FleetTableOptions {
  FleetRequest request;  // `apart`: what rows are
  bool json = false;
};
[[nodiscard]] int RunFleetList(const FleetTableOptions& options, const Context& context);
[[nodiscard]] int RunFleetFunctions(const FleetTableOptions& options, const Context& context);
[[nodiscard]] int RunFleetOutliers(const FleetTableOptions& options, const Context& context);

struct FleetWaitsOptions {
  FleetRequest request;
  OutputOptions output;  // of Report::kWaits
};
// On whom threads wait, where hosts know it, else blocked time by reason; and the heaviest stacks.
// To files, and as a graph: on whom threads wait alone; an error where no host knows it.
[[nodiscard]] int RunFleetWaits(const FleetWaitsOptions& options, const Context& context);

}  // namespace profd::client
